"""The worked example of the model's README: seven people on a grid of four by four cells."""

from __future__ import annotations

from core.models.flows.released import PublishedFlow
from tests.builders.windows import flow_plan, released, visits, window_message
from tests.core.models.flows.test_divide import GRID

WAYS = {
    1: ("r0c0", "r2c2", "r3c3"),
    2: ("r0c0", "r2c2"),
    3: ("r0c0", "r2c2"),
    4: ("r1c0", "r2c2"),
    5: ("r1c1", "r2c2"),
    6: ("r0c1", "r2c2"),
    7: ("r2c2", "r0c1"),
}
"""The cells that each person visits, in order."""


def cell(name: str) -> int:
    return int(name[1]) << 32 | int(name[3])


def test_the_window_is_divided_and_counted_as_the_readme_says() -> None:
    """
    With k = 3: homes are one place, the market is as it is, and the single trips elsewhere are suppressed.
    """
    rows = visits(*((user, 60 * at, cell(name)) for user, way in WAYS.items() for at, name in enumerate(way)))
    outcome = released(rows, flow_plan(k=3, locator=GRID))
    flows = [one.content() for one in outcome.trajectories if isinstance(one, PublishedFlow)]
    assert flows == [{"origin": "q1-0-0", "destination": "r2c2", "people": 6, "trips": 6}]
    told = window_message(outcome)
    assert (told["people"], told["population"], told["points_suppressed"]) == (6, None, None)
    assert (told["information_loss"]["trips_released"], told["information_loss"]["trips_suppressed"]) == (6, None)
