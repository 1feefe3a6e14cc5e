"""Where promtool is."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def promtool() -> str:
    """The path of promtool, which Debian's package `prometheus` has."""
    path = shutil.which("promtool")
    if path is None and os.environ.get("SHOAL_REQUIRE_PROMTOOL") == "1":
        pytest.fail("SHOAL_REQUIRE_PROMTOOL=1, but promtool is missing", pytrace=False)
    if path is None:
        pytest.skip("promtool is missing: apt-get install prometheus")
    return path
