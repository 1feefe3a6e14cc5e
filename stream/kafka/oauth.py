"""Tokens for SASL OAUTHBEARER: from an identity provider, or from a file that another program keeps up to date."""

from __future__ import annotations

import asyncio
import base64
import functools
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlsplit
from weakref import WeakKeyDictionary

import msgspec
from aiohttp import ClientError, ClientSession, ClientSSLError, ClientTimeout
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError

from stream.kafka.https import is_token, proxy_for, tls_reason
from stream.settings.credentials import oauth_context
from stream.settings.kafka import KafkaSettings

__all__ = ["ClientCredentials", "TokenError", "TokenFile", "TokenRefusedError", "forget_token", "token_provider"]

_TIMEOUT_S = 10.0
_PAUSE_S = 1.0
"""How long a failure is returned to later callers without a new request: clients may ask many times a second."""

_MARGIN_S = 60.0
"""How long before its expiry a token is replaced; at most a fifth of its lifetime."""

_LEAST_AGE_S = 10.0
"""Least age at which a token is dropped: a newer one is unlikely to be the cause of a refused connection, and requests
for tokens stay rare."""

_FAULTS = frozenset(
    {
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    }
)
"""Error codes of an identity provider (RFC 6749, section 5.2). Other text is not shown: it may repeat our secret."""


class TokenError(KafkaError):  # type: ignore[misc]
    """There is no token now; a client treats this as a failed connection, and tries again."""

    def __str__(self) -> str:
        return str(self.args[0])  # only the message; the client's own errors begin with their name


class TokenRefusedError(TokenError):
    """There will be no token until a person acts; the message says what to do."""


@functools.cache
def token_provider(kafka: KafkaSettings) -> AbstractTokenProvider:
    """Return the source of tokens. All clients with the same settings get the same one, so that they share a token."""
    if kafka.oauth_token_file is not None:
        return TokenFile(kafka.oauth_token_file)
    return ClientCredentials(kafka)


def forget_token(kafka: KafkaSettings) -> None:
    """Request a new token at the next connection, because brokers may have refused the current one.

    The client cannot see a refusal: a broker just closes the connection.
    """
    if kafka.security_protocol.startswith("SASL") and kafka.sasl_mechanism == "OAUTHBEARER":
        provider = token_provider(kafka)
        if isinstance(provider, ClientCredentials):
            provider.forget()


class TokenFile(AbstractTokenProvider):  # type: ignore[misc]
    """Reads a token from a file for every connection: a service account's token is replaced while the worker runs."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        """Return the current token."""
        try:
            token = (await asyncio.to_thread(self._path.read_text, encoding="ascii")).strip()
        except (OSError, UnicodeDecodeError) as fault:
            raise TokenRefusedError(
                f"kafka.oauth_token_file cannot be read ({type(fault).__name__}): it must be a file with a token"
            ) from None
        if not is_token(token):
            raise TokenRefusedError("kafka.oauth_token_file holds no token: it must be one word, such as a JWT")
        return token


class _Answer(msgspec.Struct):
    """The answer of an identity provider (RFC 6749, section 5.1)."""

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - no secret
    expires_in: float | None = None


class _Fault(msgspec.Struct):
    error: str = ""


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Asks an identity provider for a token (RFC 6749, section 4.4) and keeps it until shortly before it expires.

    Clients in several event loops may share it (Faust's consumer has its own loop). Clients in one loop share a
    request.

    Args:
        kafka: Settings with the token endpoint, the client and its secret.

    Raises:
        SettingsError: ``kafka.oauth_cafile`` cannot be used.
    """

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka
        self._url = kafka.oauth_token_url or ""
        self._host = urlsplit(self._url).netloc
        self._context = oauth_context(kafka)
        self._kept: tuple[str, float] | None = None
        self._since_s = 0.0
        self._failed: tuple[TokenError, float] | None = None
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self._making_a_lock = threading.Lock()

    def __repr__(self) -> str:
        return f"ClientCredentials(host={self._host!r})"

    async def token(self) -> str:
        """Return a valid token.

        Raises:
            TokenError: There is no token.
        """
        loop = asyncio.get_running_loop()
        with self._making_a_lock:
            lock = self._locks.setdefault(loop, asyncio.Lock())
        async with lock:
            now_s = time.monotonic()
            if self._kept is not None and now_s < self._kept[1]:
                return self._kept[0]
            if self._failed is not None and now_s < self._failed[1]:
                raise type(self._failed[0])(*self._failed[0].args)
            try:
                answer = await self._ask()
            except TokenError as fault:
                self._failed = fault, time.monotonic() + _PAUSE_S
                raise
            life_s = max(0.0, answer.expires_in or 0.0)
            self._kept = answer.access_token, now_s + life_s - min(_MARGIN_S, life_s / 5)
            self._since_s = now_s
            return answer.access_token

    def rotate(self, kafka: KafkaSettings) -> None:
        """Use another client id and secret for the next token, and request it at the next connection."""
        self._kafka, self._kept, self._failed = kafka, None, None

    def forget(self) -> None:
        """Drop the token, unless it is new."""
        if time.monotonic() - self._since_s >= _LEAST_AGE_S:
            self._kept = None

    async def _ask(self) -> _Answer:
        asked = {"grant_type": "client_credentials"}
        if self._kafka.oauth_scope:
            asked["scope"] = self._kafka.oauth_scope
        headers = {"Accept": "application/json", "Authorization": f"Basic {self._basic_credentials()}"}
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=_TIMEOUT_S)) as session,
                session.post(
                    self._url,
                    data=asked,
                    headers=headers,
                    proxy=proxy_for(self._url),
                    ssl=self._context,
                    # A redirect would send the secret to another server.
                    allow_redirects=False,
                ) as answer,
            ):
                status, body = answer.status, await answer.read()
        except ClientSSLError as fault:
            raise TokenRefusedError(
                f"the identity provider {self._host} is not trusted ({tls_reason(fault)}): set kafka.oauth_cafile to "
                "the certificate of its CA, and kafka.oauth_token_url to the name in its certificate"
            ) from None
        except (ClientError, OSError, TimeoutError, ValueError) as fault:  # ValueError: the proxy's address is invalid
            raise TokenError(
                f"the identity provider {self._host} does not answer ({type(fault).__name__}): check that it runs, "
                "and kafka.oauth_token_url"
            ) from None
        return self._read(status, body)

    def _basic_credentials(self) -> str:
        secret = self._kafka.oauth_client_secret
        # Encoded as RFC 6749, section 2.3.1, requires: otherwise a colon in the id would end it.
        parts = (self._kafka.oauth_client_id or "", secret.get_secret_value() if secret is not None else "")
        return base64.b64encode(":".join(map(quote_plus, parts)).encode()).decode()

    def _read(self, status: int, body: bytes) -> _Answer:
        if status >= 500 or status == 429:
            raise TokenError(f"the identity provider {self._host} returns no token now (it answers {status})")
        if status != 200:
            fault = _decoded(body, _Fault)
            named = f", {fault.error}" if fault is not None and fault.error in _FAULTS else ""
            raise TokenRefusedError(
                f"the identity provider {self._host} refuses a token (it answers {status}{named}): check "
                "kafka.oauth_token_url, kafka.oauth_client_id, kafka.oauth_client_secret and kafka.oauth_scope"
            )
        answer: _Answer | None = _decoded(body, _Answer)
        if answer is None or answer.token_type.lower() != "bearer" or not is_token(answer.access_token):
            raise TokenRefusedError(
                f"the answer of {self._host} is not a bearer token: check that kafka.oauth_token_url is its token "
                "endpoint"
            )
        return answer


def _decoded(body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind, strict=False)  # some providers write the seconds in quotes
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
