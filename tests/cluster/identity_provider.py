"""An identity provider for the tests: a token endpoint on the loopback interface, and tokens that Kafka believes."""

from __future__ import annotations

import base64
import json
import time
import urllib.parse
from pathlib import Path
from typing import Any

from tests.cluster.http_stand_in import HttpStandIn, basic_names

__all__ = ["IdentityProvider", "unsecured_token"]


def unsecured_token(subject: str, *, lives_s: float = 3600.0) -> str:
    """Return a JWT without a signature (RFC 7519, section 6), which a broker believes that is told to."""
    now_s = time.time()
    claims = {"sub": subject, "iat": now_s - 1, "exp": now_s + lives_s}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "none"}, claims)]
    return b".".join([*parts, b""]).decode()


class IdentityProvider(HttpStandIn):
    """A token endpoint at ``/token`` for as long as a ``with`` block.

    Args:
        clients: Secrets by client.
        certificate: Certificate and key, for HTTPS.
    """

    def __init__(self, clients: dict[str, str], *, certificate: tuple[Path, Path] | None = None) -> None:
        super().__init__(certificate=certificate)
        self._clients = clients
        self.asked: list[dict[str, str]] = []
        """What was asked for, in order: the form, and under ``client`` who asked."""

        self.lives_s = 3600.0
        """What is said of how long tokens live."""

        self.delay_s = 0.0
        """How long each answer takes."""

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Address of the token endpoint."""
        return f"{self.scheme}://{self.host}/token"

    def note(self, method: str, path: str, authorization: str | None, body: bytes) -> None:
        """See :meth:`HttpStandIn.note`."""
        client, _ = _client(authorization)
        self.asked.append(dict(urllib.parse.parse_qsl(body.decode())) | {"client": client})
        time.sleep(self.delay_s)

    def reply(self, method: str, path: str, authorization: str | None, body: bytes) -> tuple[int, bytes]:
        """See :meth:`HttpStandIn.reply`."""
        client, secret = _client(authorization)
        is_known = path == "/token" and self._clients.get(client) == secret
        return self._granted(client) if is_known else _refused(secret)

    def _granted(self, client: str) -> tuple[int, bytes]:
        token = unsecured_token(client, lives_s=max(self.lives_s, 1.0))
        told: dict[str, Any] = {"access_token": token, "token_type": "Bearer", "expires_in": self.lives_s}
        return 200, json.dumps(told).encode()


def _client(authorization: str | None) -> tuple[str, str]:
    """Return who asks, and the secret."""
    client, _, secret = map(urllib.parse.unquote_plus, basic_names(authorization or "").partition(":"))
    return client, secret


def _refused(secret: str) -> tuple[int, bytes]:
    # As some do, it repeats what it was sent: none of it may get into a log.
    return 401, json.dumps({"error": "invalid_client", "error_description": f"wrong secret {secret}"}).encode()
