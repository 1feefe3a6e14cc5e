"""The picture of a dashboard shows what its JSON says."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.deploy.draw import draw, in_unit
from tests.deploy.prometheus import Prometheus, Series
from tests.deploy.promql import DASHBOARDS, panels_of


class Answers(Prometheus):
    """Answers every question with two lines, or with none."""

    lines = 2

    def ask(self, expression: str, *, since_s: float, until_s: float, step_s: float) -> list[Series]:
        assert "$" not in expression
        times = [since_s + step_s * n for n in range(int((until_s - since_s) / step_s))]
        kinds = ["checkins", "fragm<ents"][: self.lines]
        return [Series({"kind": kind}, [(at, float(n)) for n, at in enumerate(times)]) for kind in kinds]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_panel_is_drawn(path: Path) -> None:
    """
    Every title is there, every line has its legend, and whatever labels hold the picture is XML.
    """
    texts = {
        element.text
        for element in ElementTree.fromstring(draw(path, Answers(""), since_s=0, until_s=300)).iter()  # noqa: S314
        if element.tag.endswith("text")
    }
    document = json.loads(path.read_text(encoding="utf-8"))
    assert {panel["title"] for panel in panels_of(document)} | {document["title"]} <= texts
    assert any("fragm<ents" in text for text in texts if text)
    assert "No data" not in texts


def test_a_panel_without_data_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nothing is not zero.
    """
    monkeypatch.setattr(Answers, "lines", 0)
    assert "No data" in draw(DASHBOARDS[0], Answers(""), since_s=0, until_s=300)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "s", "0 s"),
        (0.25, "s", "250 ms"),
        (5400, "s", "1.5 h"),
        (0.0625, "percentunit", "6.25 %"),
        (3 * 2**20, "bytes", "3 MiB"),
        (2500, "short", "2.5 K"),
    ],
)
def test_numbers_have_their_unit(value: float, unit: str, text: str) -> None:
    """
    As in Grafana, roughly.
    """
    assert in_unit(value, unit) == text
