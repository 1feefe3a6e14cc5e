"""Certificates for the tests, made with openssl: authorities, and what they vouch for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

__all__ = ["Authority"]


class Authority:
    """A certificate authority of its own.

    Args:
        folder: Where its files are written.
        name: Its common name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("no openssl to make certificates with")
        self._folder, self._name = folder, name
        self.certificate, self._key = self._make(name, "basicConstraints=critical,CA:TRUE")

    def issue(self, name: str) -> tuple[Path, Path]:
        """Return a certificate for a name and the loopback address, and its key."""
        vouched = ("-CA", str(self.certificate), "-CAkey", str(self._key))
        return self._make(name, "subjectAltName=IP:127.0.0.1,DNS:localhost", *vouched)

    def _make(self, name: str, extension: str, *more: str) -> tuple[Path, Path]:
        certificate, key = (self._folder / f"{self._name}-{name}-{what}.pem" for what in ("certificate", "key"))
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
                *("-days", "2", "-subj", f"/CN={name}", "-addext", extension),
                *("-keyout", str(key), "-out", str(certificate), *more),
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )
        return certificate, key
