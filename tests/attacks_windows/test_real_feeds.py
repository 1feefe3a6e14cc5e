"""The attacks of `make attack-windows` on the real feeds: none finds more than the default settings promise."""

from __future__ import annotations

import re

import pytest

from tests.attacks_windows.run import RUNS
from tests.paths import DATA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.exists(), reason=f"the real feeds are not at hand: {DATA}"),
]

FRAGMENTS = ("cabs-15m", "cabs-5m", "ships-5m", "trucks-2h")
HORIZONS = (1, 2, 4, 8)


def measured(run: str, attack: str, **given: object) -> str:
    (found,) = (line.measured for line in RUNS[run](DATA, dict(given), 100) if line.attack.startswith(attack))
    return found


@pytest.mark.parametrize("run", FRAGMENTS)
@pytest.mark.parametrize("most", [2, 3])
def test_no_more_than_one_in_l_of_a_set_is_in_the_set_named_next(run: str, most: int) -> None:
    """
    With the default settings, and with a larger `mixing_l`.
    """
    given = {} if most == 2 else {"privacy.mixing_l": most}
    assert float(measured(run, "largest share of a set", **given)) <= 1 / most + 0.005  # two digits are printed


@pytest.mark.parametrize("run", [run for run in FRAGMENTS if run != "trucks-2h"])  # of few trucks nothing is known
def test_one_window_alone_never_shows_fewer_than_k(run: str) -> None:
    found = measured(run, "  the same, one window alone")
    assert int(found.rpartition(" ")[2]) >= 5


def claims(**given: object) -> list[tuple[int, int]]:
    """How many claims that somebody has the sensitive value are right, of how many, for each number of windows."""
    found = re.findall(r"\(H=(\d+), (\d+) of (\d+) claims", measured("gowalla-lkc-shares", "crowds' shares", **given))
    assert [int(horizon) for horizon, _, _ in found] == list(HORIZONS)
    return [(int(right), int(n)) for _, right, n in found]


def test_no_more_than_half_of_what_is_inferred_from_several_windows_is_right() -> None:
    """
    `lkc` over 8 windows, the default: shares of crowds multiplied over 1, 2, 4 and 8 of them. With C = 0.5 a claim is
    no surer than that, whatever an attacker believes who takes windows for independent.
    """
    found = claims()
    assert found[0] == (0, 0)
    assert sum(right for right, _ in found) <= 0.5 * sum(n for _, n in found)


def test_the_attack_does_infer_carriers_if_each_window_stands_alone() -> None:
    """
    The test above is not blind.
    """
    found = claims(**{"privacy.horizon": 1})
    assert sum(right for right, _ in found) > 0.6 * sum(n for _, n in found) > 10
