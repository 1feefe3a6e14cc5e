"""The verifier of the horizon: it must see what an anonymizer could get wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.km import occurrences
from core.models.km.anonymize.horizon import hold_over_horizon
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.guarantee import KmAnonymity
from core.models.km.verify_horizon import KmHorizonReport, verify_horizon
from core.pipeline import release_window
from core.records.record import Kind
from core.release.outcome import Release, ReleaseRefused
from core.windows.history import NO_HISTORY, History, Roster
from core.windows.window import WindowKey
from tests.budgets import examples
from tests.builders.windows import START_MS, WINDOW_MS, seal_of, sequence_plan, visits
from tests.oracles.km_horizon import ReleasedPieces, infrequent_in

PARK, STATION, MARKET = 4, 5, 2


def roster_of(pieces: ReleasedPieces, number: int) -> Roster:
    """The roster of a window that released these pieces."""
    entries = [(user, ",".join(map(str, piece))) for user in sorted(pieces) for piece in pieces[user]]
    labels = sorted({label for _, label in entries})
    return Roster(
        key=WindowKey(number + 1, Kind.CHECKINS, "all", number),
        users=np.array([user for user, _ in entries], np.uint64),
        groups=np.array([labels.index(label) for _, label in entries], np.int64),
        labels=tuple(labels),
    )


def verify(windows: Sequence[ReleasedPieces], *, k: int, m: int) -> KmHorizonReport:
    """Check the last of several windows."""
    *before, last = windows
    history = History(rosters=tuple(roster_of(pieces, number) for number, pieces in enumerate(before)))
    users = [user for user in last for _ in last[user]]
    guarantee = KmAnonymity(k=k, m=m, horizon=len(windows))
    return verify_horizon(users, [piece for pieces in last.values() for piece in pieces], guarantee, history)


PIECE = st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple)
PIECES = st.dictionaries(st.integers(0, 6), st.lists(PIECE, min_size=1, max_size=2))


@settings(deadline=None, max_examples=examples(400, least=60))
@given(
    windows=st.lists(PIECES, min_size=1, max_size=3),
    k=st.integers(2, 4),
    m=st.integers(1, 3),
    at_once=st.sampled_from([1, 1_000_000]),
)
def test_the_report_is_that_of_the_definition(windows: list[ReleasedPieces], k: int, m: int, at_once: int) -> None:
    """
    Each joined subtrajectory with a location of the last window, counted one by one; the memory decides nothing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(occurrences, "_VISITS_AT_ONCE", at_once)
        report = verify(windows, k=k, m=m)
    newest = len(windows) - 1
    broken = {part for part in infrequent_in(windows, k, m) if any(window == newest for window, _ in part)}
    assert (report.violations, report.unread) == (len(broken), 0)
    assert report.holds == (not broken)
    if windows[-1]:
        assert report.smallest_support is not None
        assert (report.smallest_support < k) == bool(broken)
    else:
        assert report.smallest_support is None


def test_a_part_of_a_window_is_of_one_piece() -> None:
    """
    Both have 1 and 2 in the first window, one of them in two pieces: (1, 2) is what one person has.
    """
    first: ReleasedPieces = {1: [(1, 2)], 2: [(1,), (2,)]}
    second: ReleasedPieces = {1: [(0,)], 2: [(0,)]}
    assert verify([first, second], k=2, m=2).holds
    assert verify([first, second], k=2, m=3).violations == 1


@pytest.mark.parametrize("labels", [(), ("",), (",1",), ("1 2",), ('["a"]',), ("-1",), ("１",)])
def test_a_label_of_something_else_is_a_violation(labels: tuple[str, ...]) -> None:
    """
    Whoever is released again although it cannot be read is counted.
    """
    roster = replace(roster_of({1: [(1,)], 2: [(1,)]}, 0), labels=labels)
    report = verify_horizon([1, 2, 3], [(0,)] * 3, KmAnonymity(k=2, m=2, horizon=2), History(rosters=(roster,)))
    assert (report.unread, report.violations, report.holds) == (2, 0, False)


def test_one_user_for_each_trajectory() -> None:
    """
    Otherwise nobody could say whose they are.
    """
    with pytest.raises(ValueError, match="1 users for 2 trajectories"):
        verify_horizon([1], [(0,), (1,)], KmAnonymity(k=2, m=2, horizon=2), NO_HISTORY)


FIRST = visits(*((user, 10, PARK if user < 4 else STATION) for user in range(8)))
LATER = visits(*((user, 10, PARK if user % 2 else MARKET) for user in (0, 1, 4, 5, 6, 7, 8, 9)))


def unrepaired(*given: Any, **named: Any) -> Generalization:
    """Release the window as it is by itself."""
    *_, result, _ = given
    assert isinstance(result, Generalization)
    return result


def half_of_it(repair: Callable[..., Any]) -> Callable[..., Any]:
    """Repair what every second person of the history makes infrequent."""

    def repaired(*given: Any, **named: Any) -> Any:
        *others, history = given
        cut = tuple(replace(one, users=one.users[::2], groups=one.groups[::2]) for one in history.rosters)
        return repair(*others, History(rosters=cut), **named)

    return repaired


@pytest.mark.parametrize("sabotage", [lambda _: unrepaired, half_of_it])
def test_a_release_that_breaks_the_promise_over_the_horizon_is_refused(
    sabotage: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Whatever repaired it: the second of two windows is refused, and nothing of it leaves.
    """
    plan = sequence_plan(k=3, m=2)
    plan = replace(plan, guarantee=replace(plan.guarantee, horizon=2))
    first = release_window(seal_of(FIRST, plan), FIRST, plan)
    assert isinstance(first, Release)
    assert first.roster is not None
    own = plan.after(History(rosters=(first.roster,)))
    rows = LATER.copy()
    rows["ts_ms"] += WINDOW_MS
    seal = seal_of(rows, own, start_ms=START_MS + WINDOW_MS)
    assert isinstance(release_window(seal, rows, own), Release)
    monkeypatch.setattr("core.models.km.release.hold_over_horizon", sabotage(hold_over_horizon))
    outcome = release_window(seal, rows, own)
    assert isinstance(outcome, ReleaseRefused)
    assert "over a horizon of 2 windows" in outcome.finding
    assert "joined subtrajectories of length <= 2 have support below k=3" in outcome.finding
