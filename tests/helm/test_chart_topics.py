"""Input topics in the chart's values: names, lists and patterns reach the worker as they are written."""

from __future__ import annotations

from typing import Any

import pytest

from stream.settings.load import load_settings
from tests.helm.chart import MINIMAL, merged, render, settings_of
from tests.helm.programs import Helm, HelmError


def topics(checkins: object) -> dict[str, Any]:
    return merged(MINIMAL, {"config": {"topics": {"checkins": checkins}}})


@pytest.mark.parametrize(
    ("written", "read"),
    [("gps.a, gps.b", "gps.a,gps.b"), (["gps.a", "gps.b"], "gps.a,gps.b"), (r"^gps\..{1,3}$", r"^gps\..{1,3}$")],
    ids=str,
)
def test_a_worker_reads_the_topics_of_the_values(helm: Helm, written: object, read: str) -> None:
    """
    A list stays a list, and a pattern keeps its backslashes.
    """
    found = settings_of(render(helm, values=[topics(written)]))
    assert load_settings(given={"topics.checkins": found["topics"]["checkins"]}).topics.checkins == read


@pytest.mark.parametrize("written", ["gps.*", ["gps.a", ""], ["gps.a", "gps b"], [7], "a,,b"], ids=str)
def test_what_is_no_name_is_refused(helm: Helm, written: object) -> None:
    """
    Before anything is installed.
    """
    with pytest.raises(HelmError):
        render(helm, values=[topics(written)])
