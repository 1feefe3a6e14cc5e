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


@pytest.mark.parametrize("run", FRAGMENTS)
def test_one_window_alone_never_shows_fewer_than_k(run: str) -> None:
    found = measured(run, "  the same, one window alone")
    assert int(found.rpartition(" ")[2]) >= 5


def test_no_carrier_is_inferred_from_several_windows() -> None:
    """
    `lkc` over 8 windows, the default: shares of crowds multiplied over 1, 2, 4 and 8 of them.
    """
    shares = re.findall(r"([\d.]+) % \(H=(\d+)", measured("gowalla-lkc-shares", "crowds' shares multiplied"))
    assert [int(horizon) for _, horizon in shares] == list(HORIZONS)
    assert [float(share) for share, _ in shares] == [0.0] * len(HORIZONS)


def test_the_attack_does_infer_carriers_if_each_window_stands_alone() -> None:
    """
    The test above is not blind.
    """
    given = {"privacy.horizon": 1}
    shares = re.findall(r"([\d.]+) % \(H=8", measured("gowalla-lkc-shares", "crowds' shares multiplied", **given))
    assert float(shares[0]) > 5
