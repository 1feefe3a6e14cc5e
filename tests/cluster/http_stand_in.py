"""Stand-ins for servers over HTTP: what they answer is told by the test."""

from __future__ import annotations

import base64
import http.server
import ssl
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

__all__ = ["HttpStandIn", "basic_names"]


def basic_names(authorization: str) -> str:
    """Return user and password of a header of basic authentication, with a colon between them."""
    return base64.b64decode(authorization.removeprefix("Basic ")).decode()


class HttpStandIn(ABC):
    """A server on the loopback interface for as long as a ``with`` block.

    Args:
        certificate: Certificate and key, for HTTPS.
    """

    def __init__(self, *, certificate: tuple[Path, Path] | None = None) -> None:
        self.answer: tuple[int, bytes] | None = None
        """What is answered instead, whatever is asked."""

        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer("GET", b"")

            def do_POST(self) -> None:
                self._answer("POST", self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, method: str, body: bytes) -> None:
                authorization = self.headers.get("Authorization")
                stand_in.note(method, self.path, authorization, body)
                code, content = stand_in.answer or stand_in.reply(method, self.path, authorization, body)
                self.send_response(code)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.scheme, self.port = "http", int(self._server.server_address[1])
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self.scheme = "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @abstractmethod
    def note(self, method: str, path: str, authorization: str | None, body: bytes) -> None:
        """Note what is asked, before it is answered."""

    @abstractmethod
    def reply(self, method: str, path: str, authorization: str | None, body: bytes) -> tuple[int, bytes]:
        """Return status and content of the answer."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
