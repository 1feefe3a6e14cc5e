"""Provenance: how the files of a release were made, as an in-toto statement (v1) with SLSA's predicate (v1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

__all__ = ["BUILD_TYPE", "provenance", "sha256"]

BUILD_TYPE = "urn:shoal:make-release:v1"
"""What a statement's parameters mean: the arguments of ``make release``, as ``docs/operate/release.md`` has them."""


def sha256(file: Path) -> str:
    """Return the digest of a file, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def provenance(
    files: Iterable[Path],
    *,
    revision: str,
    source: str,
    locks: Iterable[Path],
    parameters: Mapping[str, str],
    builder: str,
    began: datetime,
    ended: datetime,
) -> dict[str, Any]:
    """Return the statement about files.

    Args:
        files: What was built.
        revision: The commit it was built from, 40 hexadecimal digits.
        source: Address of the repository; may be empty.
        locks: The lock files, which name every dependency by its digest.
        parameters: What the build was asked for.
        builder: URI of the machine or service that built it.
        began: When the build began, with a time zone.
        ended: When it ended.
    """
    commit = {"uri": f"git+{source}@{revision}" if source else f"git:{revision}", "digest": {"gitCommit": revision}}
    locked = [{"name": lock.name, "digest": {"sha256": sha256(lock)}} for lock in locks]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": {"sha256": sha256(file)}} for file in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": dict(parameters),
                "resolvedDependencies": [commit, *locked],
            },
            "runDetails": {
                "builder": {"id": builder},
                "metadata": {"startedOn": _rfc_3339(began), "finishedOn": _rfc_3339(ended)},
            },
        },
    }


def _rfc_3339(time: datetime) -> str:
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
