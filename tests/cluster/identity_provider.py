"""An identity provider for the tests: a token endpoint on the loopback interface, and tokens that Kafka believes."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
import time
import urllib.parse
from pathlib import Path
from typing import Any, Self

__all__ = ["IdentityProvider", "unsecured_token"]


def unsecured_token(subject: str, *, lives_s: float = 3600.0) -> str:
    """Return a JWT without a signature (RFC 7519, section 6), which a broker believes that is told to."""
    now_s = time.time()
    claims = {"sub": subject, "iat": now_s - 1, "exp": now_s + lives_s}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "none"}, claims)]
    return b".".join([*parts, b""]).decode()


class IdentityProvider:
    """A token endpoint at ``/token`` for as long as a ``with`` block.

    Args:
        clients: Secrets by client.
        certificate: Certificate and key, for HTTPS.
    """

    def __init__(self, clients: dict[str, str], *, certificate: tuple[Path, Path] | None = None) -> None:
        self.asked: list[dict[str, str]] = []
        """What was asked for, in order: the form, and under ``client`` who asked."""

        self.answer: tuple[int, bytes] | None = None
        """What is answered instead of a token, whoever asks."""

        self.lives_s = 3600.0
        """What is said of how long tokens live."""

        self.delay_s = 0.0
        """How long each answer takes."""

        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                named = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
                client, _, secret = map(urllib.parse.unquote_plus, named.partition(":"))
                provider.asked.append(dict(urllib.parse.parse_qsl(body)) | {"client": client})
                time.sleep(provider.delay_s)
                is_known = self.path == "/token" and clients.get(client) == secret
                code, content = provider.answer or (provider._granted(client) if is_known else _refused(secret))
                self.send_response(code)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Address of the token endpoint."""
        return f"{self._scheme}://{self.host}/token"

    def _granted(self, client: str) -> tuple[int, bytes]:
        token = unsecured_token(client, lives_s=max(self.lives_s, 1.0))
        told: dict[str, Any] = {"access_token": token, "token_type": "Bearer", "expires_in": self.lives_s}
        return 200, json.dumps(told).encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def _refused(secret: str) -> tuple[int, bytes]:
    # As some do, it repeats what it was sent: none of it may get into a log.
    return 401, json.dumps({"error": "invalid_client", "error_description": f"wrong secret {secret}"}).encode()
