"""Where the tests find things: the project, the worked examples, and the real feeds, which may be absent."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CASES", "DATA", "EXAMPLES", "ROOT"]

ROOT = Path(__file__).resolve().parents[1]
"""The project."""

EXAMPLES = ROOT / "tests" / "golden" / "examples"
"""Worked examples of the papers, as JSON."""

DATA = ROOT.parent / "shared" / "data"
"""Real feeds, which stand beside the project where they are at hand; tests that need them skip elsewhere."""

CASES = ROOT.parent / "shared" / "cases"
"""One example of every kind of feed that people have asked about in public; may be absent too."""
