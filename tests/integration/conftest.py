"""Workers of these tests start by forks: what they import is imported once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.workers import forked_workers


@pytest.fixture(scope="session", autouse=True)
def _quick_starts() -> Iterator[None]:
    with forked_workers():
        yield
