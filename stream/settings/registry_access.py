"""Credentials for the schema registry, checked before anything starts, and the TLS context built from them."""

from __future__ import annotations

import re
import ssl

from stream.settings.credentials import check_token_file, client_certificate, trusting
from stream.settings.errors import SettingsError
from stream.settings.registry import RegistrySettings
from stream.settings.values import THIS_MACHINE

__all__ = ["check_registry", "registry_context"]

_BASIC = ("username", "password")
_BEARER = ("token", "token_file")
_TLS = ("cafile", "certfile", "keyfile")
_OF_THIS_MACHINE = re.compile(rf"http://{THIS_MACHINE}(:|/|$)")


def check_registry(registry: RegistrySettings) -> None:
    """Check that credentials are complete, of one kind, and not sent in the clear.

    Raises:
        SettingsError: A credential is missing, not used, exposed, or cannot be read.
    """
    given = [name for name in (*_BASIC, *_BEARER, *_TLS) if getattr(registry, name)]
    if registry.url is None:
        if given:
            raise SettingsError(f"registry.{given[0]} is set and registry.url is not: set both, or none")
        return
    secret = [name for name in given if name not in _TLS]
    kinds = [name for name in given if name in ("username", *_BEARER)]
    if len(kinds) > 1:
        raise SettingsError(
            f"registry.{kinds[0]} and registry.{kinds[1]} are both set: choose user name and password, a token, or a "
            "file with a token"
        )
    if any(name in _BASIC for name in given) and not all(name in given for name in _BASIC):
        raise SettingsError(
            f"registry.{secret[0]} is set: registry.username and registry.password belong together, both must be set"
        )
    plain = [address for address in registry.addresses if address.startswith("http://")]
    if secret and any(not _OF_THIS_MACHINE.match(address) for address in plain):
        raise SettingsError(
            f"registry.{secret[0]} is set and registry.url has an address with http://: credentials would be sent in "
            "the clear; use https:// (http:// is allowed with credentials for this machine alone)"
        )
    tls = [name for name in given if name in _TLS]
    if tls and len(plain) == len(registry.addresses):
        raise SettingsError(f"registry.{tls[0]} is set and registry.url has no address with https://: only TLS uses it")
    if registry.token_file is not None:
        check_token_file("registry.token_file", registry.token_file)
    registry_context(registry)


def registry_context(registry: RegistrySettings) -> ssl.SSLContext:
    """Return the TLS context for connections to the registry.

    Raises:
        SettingsError: A file cannot be used.
    """
    context = trusting("registry.cafile", registry.cafile)
    if (registry.certfile is None) != (registry.keyfile is None):
        raise SettingsError("registry.certfile and registry.keyfile belong together: both must be set")
    if registry.certfile is not None:
        client_certificate(
            context,
            registry.certfile,
            registry.keyfile,
            names="registry.certfile and keyfile",
            password="",
            and_what="without a password",
        )
    return context
