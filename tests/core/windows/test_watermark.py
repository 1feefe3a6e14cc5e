"""Watermarks: how far event time has come, drawn as time lines. Sources are a, b and c; event times are in seconds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.records.record import Source
from core.windows.watermark import Watermark

A, B, C = (Source("topic", i) for i in range(3))
LATENESS_MS = 10
IDLE_MS = 1000


def watermark(*sources: Source, clock_ms: int = 0) -> Watermark:
    """A watermark that expects as many sources as are given."""
    mark = Watermark(allowed_lateness_ms=LATENESS_MS, idle_timeout_ms=IDLE_MS)
    mark.expect("topic", len(sources), clock_ms=clock_ms)
    return mark


def test_it_follows_the_newest_event_time_less_the_lateness() -> None:
    """
    A record that is older than another one moves nothing back.
    """
    #  a   100    90    130
    #      90|    90|   120|
    mark = watermark(A)
    seen = []
    for ts_ms in (100, 90, 130):
        mark.advance(A, ts_ms, clock_ms=0)
        seen.append(mark.value_ms(clock_ms=0))
    assert seen == [90, 90, 120]


def test_the_slowest_source_decides() -> None:
    """
    The watermark is the least of the sources' newest event times.
    """
    #  a   -------------500
    #  b   ---200
    #       190|
    #  b   -----------------600
    #                 490|
    mark = watermark(A, B)
    mark.advance(A, 500, clock_ms=0)
    mark.advance(B, 200, clock_ms=0)
    assert mark.value_ms(clock_ms=0) == 190
    mark.advance(B, 600, clock_ms=0)
    assert mark.value_ms(clock_ms=0) == 490


def test_a_source_that_is_expected_is_waited_for() -> None:
    """
    Before every source is heard there is no watermark, however far the others are.
    """
    #  a   -------------500
    #  b   (expected, not yet heard)
    mark = watermark(A, B)
    assert mark.value_ms(clock_ms=0) is None
    mark.advance(A, 500, clock_ms=0)
    assert mark.value_ms(clock_ms=0) is None
    mark.advance(B, 100, clock_ms=0)
    assert mark.value_ms(clock_ms=0) == 90


def test_a_source_that_never_speaks_is_waited_for_no_longer_than_the_idle_time_out() -> None:
    """
    An empty partition must not stop a feed: at the time-out, to the millisecond, it stops counting.
    """
    #  clock  0                    999 | 1000
    #  a      500 . . . . . . . . . . . . .      heard all along
    #  b      (expected at 0)          |  idle
    mark = watermark(A, B)
    for clock_ms in (0, 500, 999):
        mark.advance(A, 500, clock_ms=clock_ms)
    assert mark.value_ms(clock_ms=999) is None
    assert mark.value_ms(clock_ms=1000) == 490


def test_expecting_again_does_not_start_the_wait_again() -> None:
    """
    Each chunk repeats how many sources there are; the time-out runs from the first time.
    """
    mark = watermark(A, B)
    mark.advance(A, 500, clock_ms=900)
    mark.expect("topic", 2, clock_ms=900)
    assert mark.value_ms(clock_ms=1000) == 490


def test_more_partitions_are_more_sources() -> None:
    """
    A topic that grows has one more source to wait for, from the moment that is known.
    """
    #  clock  0        400             1400
    #  a      500
    #  b               (expected)        idle
    mark = watermark(A)
    mark.advance(A, 500, clock_ms=0)
    mark.expect("topic", 2, clock_ms=400)
    mark.advance(A, 500, clock_ms=1399)
    assert mark.value_ms(clock_ms=1399) is None
    assert mark.value_ms(clock_ms=1400) == 490


def test_a_silent_source_stops_holding_back_and_counts_again_when_it_speaks() -> None:
    """
    While b is idle, a decides; b's next record, though old, counts again.
    """
    #  clock  0      600           1000        1100
    #  a      500    700
    #  b      200                  (idle)      250
    #      190|   190|           690|       240|
    mark = watermark(A, B)
    mark.advance(A, 500, clock_ms=0)
    mark.advance(B, 200, clock_ms=0)
    assert mark.value_ms(clock_ms=0) == 190
    mark.advance(A, 700, clock_ms=600)
    assert mark.value_ms(clock_ms=999) == 190
    assert mark.value_ms(clock_ms=1000) == 690
    mark.advance(B, 250, clock_ms=1100)
    assert mark.value_ms(clock_ms=1100) == 240


def test_a_backlog_makes_nobody_idle() -> None:
    """
    While there is something left to read the clock stands, so a source deep in the backlog is still waited for.
    """
    #  clock  0 0 0 0 0 0 0 0 0 0 ...      (nothing but reading)
    #  a      1000 records, hours of event time
    #  b                               its first record comes after all of a's
    mark = watermark(A, B)
    for hour in range(1000):
        mark.advance(A, hour * 3_600_000, clock_ms=0)
    assert mark.value_ms(clock_ms=0) is None
    mark.advance(B, 0, clock_ms=0)
    assert mark.value_ms(clock_ms=0) == -LATENESS_MS


def test_when_everybody_is_silent_there_is_no_watermark_but_idleness() -> None:
    """
    With every source silent the watermark cannot be told; that all are idle can.
    """
    mark = watermark(A, B)
    mark.advance(A, 500, clock_ms=0)
    mark.advance(B, 700, clock_ms=400)
    assert not mark.is_idle(clock_ms=1399)
    assert mark.value_ms(clock_ms=1399) == 690
    assert mark.is_idle(clock_ms=1400)
    assert mark.value_ms(clock_ms=1400) is None


def test_a_source_at_its_end_is_not_waited_for() -> None:
    """
    Retiring a source leaves the others to decide; with the last one retired nothing holds back.
    """
    #  a   -------------500
    #  b   ---200 end
    mark = watermark(A, B)
    mark.advance(A, 500, clock_ms=0)
    mark.advance(B, 200, clock_ms=0)
    mark.retire(B)
    assert mark.value_ms(clock_ms=0) == 490
    assert not mark.is_idle(clock_ms=0)
    mark.retire(A)
    assert mark.value_ms(clock_ms=0) is None
    assert mark.is_idle(clock_ms=0)


def test_a_source_at_its_end_stays_there_although_others_name_it() -> None:
    """
    Chunks of the other sources say how many partitions there are; that does not call a retired one back.
    """
    #  a   ---200 end
    #  b   ------------500     (its chunks say: 2 partitions)
    mark = watermark(A, B)
    mark.advance(A, 200, clock_ms=0)
    mark.retire(A)
    mark.expect("topic", 2, clock_ms=0)
    mark.advance(B, 500, clock_ms=0)
    assert mark.value_ms(clock_ms=0) == 490
    mark.retire(B)
    mark.expect("topic", 2, clock_ms=0)
    assert mark.is_idle(clock_ms=0)


def test_a_source_that_is_heard_after_its_end_counts_again() -> None:
    """
    Its records are there, so they hold windows open like any others.
    """
    mark = watermark(A, B)
    mark.retire(A)
    mark.advance(B, 500, clock_ms=0)
    mark.advance(A, 100, clock_ms=0)
    assert mark.value_ms(clock_ms=0) == 90


def test_an_unknown_source_can_be_retired() -> None:
    """
    An empty file comes to its end before anything was heard of it.
    """
    mark = watermark(A)
    mark.retire(C)
    mark.advance(A, 100, clock_ms=0)
    assert mark.value_ms(clock_ms=0) == 90


def test_all_inputs_are_waited_for_as_soon_as_one_has_records() -> None:
    """
    The other topic is expected from the first record of the feed on, however long ago the feed's topics were named: the
    silence before is not its own.
    """
    #  topic/0   -------------------500
    #  other/0   (an input)             ---200
    other = Source("other", 0)
    mark = Watermark(allowed_lateness_ms=LATENESS_MS, idle_timeout_ms=IDLE_MS)
    mark.expect_inputs({"topic": 1, "other": 1}, clock_ms=0)
    assert mark.is_idle(clock_ms=0)
    mark.expect("topic", 1, clock_ms=10 * IDLE_MS)
    mark.advance(A, 500, clock_ms=10 * IDLE_MS)
    assert mark.value_ms(clock_ms=10 * IDLE_MS) is None
    mark.advance(other, 200, clock_ms=10 * IDLE_MS)
    assert mark.value_ms(clock_ms=10 * IDLE_MS) == 190


def test_an_input_that_appears_is_waited_for_from_then_on() -> None:
    """
    A topic of a feed that is running holds the watermark back until it has records or was idle for the time-out.
    """
    mark = watermark(A)
    mark.advance(A, 500, clock_ms=0)
    mark.expect_inputs({"topic": 1}, clock_ms=300)
    assert mark.value_ms(clock_ms=300) == 490
    mark.expect_inputs({"topic": 1, "other": 2}, clock_ms=400)
    assert mark.value_ms(clock_ms=900) is None
    mark.advance(A, 600, clock_ms=1399)
    assert mark.value_ms(clock_ms=1399) is None
    assert mark.value_ms(clock_ms=1400) == 590


def test_nothing_is_known_before_the_first_source() -> None:
    """
    Without sources there is no watermark, and nothing to wait for.
    """
    mark = watermark()
    assert mark.value_ms(clock_ms=0) is None
    assert mark.is_idle(clock_ms=0)


STEPS = st.lists(st.tuples(st.sampled_from([A, B, C]), st.integers(0, 1000), st.integers(0, 400)), max_size=30)


@given(steps=STEPS)
def test_it_is_what_its_definition_says(steps: list[tuple[Source, int, int]]) -> None:
    """
    Against the definition: of the sources heard within the time-out, the least newest event time, less lateness.
    """
    mark = watermark(A, B, C)
    clock_ms = 0
    heard: dict[Source, list[tuple[int, int]]] = {A: [], B: [], C: []}
    for source, ts_ms, passed_ms in steps:
        clock_ms += passed_ms
        mark.advance(source, ts_ms, clock_ms=clock_ms)
        heard[source].append((ts_ms, clock_ms))

        since_ms = {one: max((at for _, at in its), default=0) for one, its in heard.items()}
        awake = [one for one in heard if clock_ms - since_ms[one] < IDLE_MS]
        newest = [max((ts for ts, _ in heard[one]), default=None) for one in awake]
        told = [ts for ts in newest if ts is not None]
        expected = min(told) - LATENESS_MS if len(told) == len(awake) and awake else None
        assert mark.value_ms(clock_ms=clock_ms) == expected


@given(steps=STEPS)
def test_without_silence_it_never_goes_back(steps: list[tuple[Source, int, int]]) -> None:
    """
    While nobody falls idle the watermark only rises.
    """
    mark = watermark(A, B, C)
    before: int | None = None
    for source, ts_ms, _ in steps:
        mark.advance(source, ts_ms, clock_ms=0)
        value = mark.value_ms(clock_ms=0)
        assert before is None or (value is not None and value >= before)
        before = value


def leading(max_lead_ms: int | None) -> Watermark:
    """A and b are at 500 when b falls silent; a goes on with the clock, 4000 ahead."""
    mark = Watermark(allowed_lateness_ms=LATENESS_MS, idle_timeout_ms=IDLE_MS, max_lead_ms=max_lead_ms)
    mark.expect("topic", 2, clock_ms=0)
    mark.advance(B, 500, clock_ms=0)
    mark.advance(A, 500 + 4000 + 1200, clock_ms=1200)
    return mark


def test_a_source_that_is_ahead_pushes_the_silent_ones_no_further_than_it_may() -> None:
    """
    A silent source is taken to have gone on with the clock: 1200 after its 500, and the lead on top.
    """
    #  a   ------------------------------5700
    #  b   500 (silent for 1200)
    assert leading(None).value_ms(clock_ms=1200) == 5690
    assert leading(300).value_ms(clock_ms=1200) == 500 + 1200 + 300 - LATENESS_MS
    assert leading(300).value_ms(clock_ms=1700) == 500 + 1700 + 300 - LATENESS_MS
    assert leading(300).lead_ms(clock_ms=1200) == 4000


def test_who_comes_back_is_not_late_by_a_source_that_was_ahead() -> None:
    """
    With a lead no larger than the lateness, a record of the moment is never behind the watermark.
    """
    for clock_ms in range(1200, 5000, 200):
        value_ms = leading(LATENESS_MS).value_ms(clock_ms=clock_ms)
        assert value_ms is None or value_ms <= 500 + clock_ms


def test_a_source_alone_leads_nobody() -> None:
    """
    Nobody else was ever heard: then it counts as it is, however far it goes.
    """
    mark = Watermark(allowed_lateness_ms=LATENESS_MS, idle_timeout_ms=IDLE_MS, max_lead_ms=0)
    mark.advance(A, 100, clock_ms=0)
    mark.advance(A, 90_000, clock_ms=1)
    assert mark.value_ms(clock_ms=1) == 90_000 - LATENESS_MS
    assert mark.lead_ms(clock_ms=1) == 0


def test_of_two_that_are_awake_the_slower_one_decides_whatever_the_lead() -> None:
    """
    The slower one leads nobody, so that nothing is to be held back.
    """
    mark = Watermark(allowed_lateness_ms=LATENESS_MS, idle_timeout_ms=IDLE_MS, max_lead_ms=0)
    for source, ts_ms in ((A, 9000), (B, 8000), (C, 100)):
        mark.advance(source, ts_ms, clock_ms=0 if source is C else 2000)
    assert mark.value_ms(clock_ms=2000) == 8000 - LATENESS_MS
