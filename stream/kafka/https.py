"""What requests to other servers over HTTPS have in common: the proxy, tokens, and why TLS failed."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from aiohttp import ClientSSLError

__all__ = ["is_token", "proxy_for", "tls_reason"]


def proxy_for(address: str) -> str | None:
    """Return the proxy of ``HTTPS_PROXY``, unless ``NO_PROXY`` has the host; plain http stays inside a network.

    aiohttp's own ``trust_env`` would also read ``~/.netrc``, and its passwords would replace ours.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" or proxy_bypass(parts.netloc):
        return None
    proxy = getproxies().get("https")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def is_token(token: str) -> bool:
    """Whether a text can be a bearer token: one word of ASCII."""
    return bool(token) and token.isascii() and token.isprintable() and " " not in token


def tls_reason(fault: ClientSSLError) -> str:
    """Return why a TLS connection failed, in the words of the TLS library."""
    below = getattr(fault, "certificate_error", None) or getattr(fault, "os_error", None)
    return str(getattr(below, "verify_message", None) or getattr(below, "reason", None) or type(fault).__name__)
