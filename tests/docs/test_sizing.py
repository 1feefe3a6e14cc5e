"""The page about sizing shows all figures, and what the presets of the chart say."""

from __future__ import annotations

from collections.abc import Sized

import pytest

from deploy.chart.presets import PRESETS
from docs.extensions.sizing import SIZING_TABLES
from stream.cli.sizing.figures import Figures
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "operate" / "sizing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SIZING_TABLES)
def test_the_page_has_every_table(name: str) -> None:
    """
    Each table has its directive on the page, and is not empty.
    """
    assert f"{{shoal-sizing}} {name}\n" in PAGE
    assert SIZING_TABLES[name]().strip()


def test_tables_leave_nothing_out() -> None:
    """
    A row for each model, family, kind of feed, check and preset.
    """
    figures = Figures.packaged()
    expected: dict[str, Sized] = {
        "families": figures.families,
        "windows": figures.models,
        "feeds": figures.feeds,
        "checks": [*figures.families, *figures.checks],
        "presets": PRESETS,
    }
    assert {name: len(SIZING_TABLES[name]().splitlines()) - 2 for name in expected} == {
        name: len(rows) for name, rows in expected.items()
    }
    assert figures.origin.date in SIZING_TABLES["origin"]()
