"""The state machine of one partition, one rule at a time.

Windows are 10 ms long. In the time lines a number in brackets is an offset of the shards topic.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.record import VISIT, Chunk, Kind, Source
from core.windows.history import Roster
from core.windows.partition import (
    Accepted,
    Action,
    EarlyBecause,
    Partition,
    ReleaseWindow,
    WriteCompletion,
    WriteSeal,
)
from core.windows.seal import Seal, SealedUntil, SealRecord
from core.windows.window import WindowKey, WindowPolicy

IDLE_MS = 1_000
NOW_MS = 40
OTHER = Source("checkins", 1)


def partition(*, max_open: int = 100, lateness_ms: int = 0, horizon: int = 1) -> Partition:
    """An empty partition whose seals are signed by "me"."""
    policy = WindowPolicy(
        size_ms=10,
        allowed_lateness_ms=lateness_ms,
        idle_timeout_ms=IDLE_MS,
        max_open=max_open,
        horizon=horizon,
    )
    return Partition({Kind.CHECKINS: policy}, lambda key, last, n, _: seal(key, last, n_rows=n))


def window(start_ms: int, shard: str = "a") -> WindowKey:
    return WindowKey(start_ms + 10, Kind.CHECKINS, shard, start_ms)


def seal(key: WindowKey, last_offset: int, *, n_rows: int = 1, writer: str = "me") -> Seal:
    return Seal(key=key, last_offset=last_offset, n_rows=n_rows, release_id="r", digest="d", writer=writer)


def completion(until_ms: int, shard: str = "a", *, last_offset: int = -1) -> SealedUntil:
    return SealedUntil(kind=Kind.CHECKINS, shard=shard, until_ms=until_ms, last_offset=last_offset)


def put(
    machine: Partition,
    offset: int,
    *records: tuple[int, int],
    shard: str = "a",
    source: Source = OTHER,
    n_partitions: int = 2,
    clock_ms: int = 0,
) -> Accepted:
    """Read a chunk of records ``(source offset, event time)``; user and location do not matter."""
    rows = np.array([(at, 1, ts_ms, 0, 0) for at, ts_ms in records], dtype=VISIT)
    chunk = Chunk(kind=Kind.CHECKINS, shard=shard, source=source, n_partitions=n_partitions, vocabulary="v", rows=rows)
    return machine.accept(chunk, offset, clock_ms=clock_ms)


def next_when_idle(machine: Partition) -> Action | None:
    return machine.next_action(clock_ms=10 * IDLE_MS)


def released(machine: Partition) -> list[int]:
    """Return the source offsets of the rows that are to be released now."""
    action = next_when_idle(machine)
    assert isinstance(action, ReleaseWindow)
    return sorted(action.rows["offset"].tolist())


def complete(machine: Partition) -> WriteCompletion:
    """Carry out a release and its completion."""
    action = next_when_idle(machine)
    assert isinstance(action, ReleaseWindow)
    machine.released(action.seal)
    written = next_when_idle(machine)
    assert isinstance(written, WriteCompletion)
    machine.completed(written)
    return written


def test_the_first_seal_wins() -> None:
    """
    rows [0] [1] [2], another's seal up to [1], mine up to [2]: the window is [0] [1], and [2] is late.
    """
    machine = partition()
    for offset in range(3):
        put(machine, offset, (offset, 5))
    action = next_when_idle(machine)
    assert isinstance(action, WriteSeal)
    assert action.seal == seal(window(0), 2, n_rows=3)
    assert machine.apply_seal(seal(window(0), 1, n_rows=2, writer="another")) == 1
    assert machine.apply_seal(seal(window(0), 2, n_rows=3)) == 0
    assert released(machine) == [0, 1]
    assert machine.buffered_rows == 2


def test_a_later_seal_with_a_higher_offset_brings_nothing_back() -> None:
    """
    The seal up to [0] came first: what arrives at [1] is late although a second seal reaches to [5].
    """
    machine = partition()
    machine.apply_seal(seal(window(0), 0, writer="another"))
    machine.apply_seal(seal(window(0), 5, writer="a third"))
    assert put(machine, 0, (0, 5)) == Accepted(buffered=1, late=0, duplicates=0)
    assert put(machine, 1, (1, 5)) == Accepted(buffered=0, late=1, duplicates=0)


def test_rows_that_came_while_the_seal_was_written_are_trimmed() -> None:
    """
    row [0], seal decided up to [0], row [1], seal read back: [1] is late.
    """
    machine = partition()
    put(machine, 0, (0, 5))
    action = next_when_idle(machine)
    assert isinstance(action, WriteSeal)
    put(machine, 1, (1, 5))
    assert machine.apply_seal(action.seal) == 1
    assert released(machine) == [0]


@pytest.mark.parametrize("how", ["own seal", "a later window's seal", "completed"])
def test_a_record_for_a_sealed_window_is_late(how: str) -> None:
    """
    Late is what comes after the window's seal, after the seal of a later window, or below sealed_until.
    """
    machine = partition()
    records: dict[str, SealRecord] = {
        "own seal": seal(window(0), 3),
        "a later window's seal": seal(window(20), 3),
        "completed": completion(10),
    }
    machine.apply_seal(records[how])
    assert put(machine, 4, (0, 5)).late == 1
    assert machine.buffered_rows == 0


def test_one_chunk_can_be_late_in_part() -> None:
    """
    A chunk's rows are judged window by window.
    """
    machine = partition()
    machine.apply_seal(completion(10))
    assert put(machine, 0, (0, 5), (1, 15), (2, 5)) == Accepted(buffered=1, late=2, duplicates=0)


def test_a_later_windows_seal_closes_earlier_ones_without_a_seal() -> None:
    """
    row [0] of window 0; another seals window 10, having seen nothing of window 0: the row is late, nothing is open.
    """
    machine = partition()
    put(machine, 0, (0, 5))
    machine.apply_seal(seal(window(10), 5, writer="another"))
    assert machine.buffered_rows == 0
    assert machine.open_windows == 1  # the later one, whose rows are still to come


def test_a_seal_after_a_later_windows_seal_does_not_count() -> None:
    """
    A worker that wakes up seals window 10 and knows nothing of window 0, which its successor seals just after: whoever
    reads the two seals, and whatever rows they have read by then, window 0 is empty and never released.
    """
    behind, ahead = partition(), partition()
    put(ahead, 0, (0, 15))
    put(ahead, 1, (1, 5))
    for machine in (behind, ahead):
        machine.apply_seal(seal(window(10), 0, writer="asleep"))
        machine.apply_seal(seal(window(0), 1))
    put(behind, 0, (0, 15))
    assert put(behind, 1, (1, 5)).late == 1
    for machine in (behind, ahead):
        assert released(machine) == [0]
        complete(machine)
        assert next_when_idle(machine) is None


def test_an_earlier_windows_seal_stays_when_a_later_window_is_sealed_with_a_lower_offset() -> None:
    """
    Window 0 is sealed up to [5] and then window 10 up to [1]: each keeps its own cut.
    """
    machine = partition()
    machine.apply_seal(seal(window(0), 5))
    machine.apply_seal(seal(window(10), 1, writer="asleep"))
    assert put(machine, 1, (0, 5), (1, 15)).buffered == 2
    assert put(machine, 2, (2, 5), (3, 15)) == Accepted(buffered=1, late=1, duplicates=0)


def test_repeated_records_are_duplicates_whatever_the_chunks_borders() -> None:
    """
    Source offsets 0-2, then 1-4: 1 and 2 are duplicates. Another shard and another source count on their own.
    """
    machine = partition()
    put(machine, 0, (0, 5), (1, 5), (2, 5))
    assert put(machine, 1, (1, 5), (2, 5), (3, 5), (4, 5)) == Accepted(buffered=2, late=0, duplicates=2)
    assert put(machine, 2, (0, 5), (4, 5)) == Accepted(buffered=0, late=0, duplicates=2)
    assert put(machine, 3, (0, 5), shard="b").buffered == 1
    assert put(machine, 4, (0, 5), source=Source("checkins", 0)).buffered == 1


def test_the_points_of_one_record_share_its_offset() -> None:
    """
    Rows of equal source offset in one chunk are one record, not repetitions.
    """
    assert put(partition(), 0, (0, 5), (0, 6), (0, 15)).buffered == 3


def test_a_sealed_window_without_rows_still_ends() -> None:
    """
    Whoever sealed it may have released half of it: it is released (its number of rows tells) and completed.
    """
    machine = partition()
    machine.apply_seal(seal(window(0), 0))
    assert next_when_idle(machine) is None  # its rows may still come
    machine.skip(0)
    assert released(machine) == []
    assert complete(machine).until == completion(10, last_offset=0)
    assert machine.open_windows == 0


def test_a_sealed_window_waits_for_the_last_offset_of_its_seal() -> None:
    """
    Sealed up to [2]: with [1] read nothing is released yet, and of the same shard nothing else is sealed.
    """
    machine = partition()
    machine.apply_seal(seal(window(0), 2, n_rows=2))
    put(machine, 0, (0, 5))
    put(machine, 1, (1, 15))
    assert next_when_idle(machine) is None
    put(machine, 2, (2, 5))
    assert released(machine) == [0, 2]


def test_windows_of_a_shard_come_in_order_and_shards_do_not_wait_for_each_other() -> None:
    """
    Shard a waits for [9] with its oldest window; b is sealed meanwhile, its oldest window first.
    """
    machine = partition()
    machine.apply_seal(seal(window(0), 9))
    put(machine, 0, (0, 15), shard="a")
    put(machine, 1, (1, 35), (2, 25), shard="b")
    action = next_when_idle(machine)
    assert isinstance(action, WriteSeal)
    assert action.seal.key == window(20, "b")


def test_a_release_comes_before_the_next_seal_and_a_completion_before_both() -> None:
    """
    What is fixed leaves first, and one window at a time is in hand.
    """
    machine = partition()
    put(machine, 0, (0, 5), (1, 15))
    put(machine, 1, (0, 5), shard="b")
    first = seal(window(0), 1)
    machine.apply_seal(first)
    assert isinstance(next_when_idle(machine), ReleaseWindow)
    machine.released(first)
    assert next_when_idle(machine) == WriteCompletion(completion(10, last_offset=1), (first,))
    complete_it = next_when_idle(machine)
    assert isinstance(complete_it, WriteCompletion)
    machine.completed(complete_it)
    assert isinstance(next_when_idle(machine), WriteSeal)


def test_a_window_is_due_when_the_watermark_passes_its_end() -> None:
    """
    The watermark is the slowest source's newest event time, less the lateness; a source not yet heard holds it back.
    """
    machine = partition(lateness_ms=5)
    put(machine, 0, (0, 5), (1, 20))
    assert machine.next_action(clock_ms=0) is None
    put(machine, 1, (0, 14), source=Source("checkins", 0))
    assert machine.next_action(clock_ms=0) is None
    put(machine, 2, (1, 15), source=Source("checkins", 0))
    assert isinstance(machine.next_action(clock_ms=0), WriteSeal)


def test_a_source_at_its_end_holds_nothing_back() -> None:
    """
    With every source retired all that is open is due.
    """
    machine = partition()
    put(machine, 0, (0, 5), n_partitions=2)
    for number in range(2):
        assert machine.next_action(clock_ms=0) is None
        machine.retire(Kind.CHECKINS, Source("checkins", number))
    assert isinstance(machine.next_action(clock_ms=0), WriteSeal)


def test_too_many_open_windows_seal_the_oldest_early() -> None:
    """
    max_open=2: the third open window of a shard seals the first; what comes later for the first is late.
    """
    machine = partition(max_open=2)
    put(machine, 0, (0, 5), (1, 15))
    assert machine.next_action(clock_ms=0) is None
    put(machine, 1, (2, 25))
    action = machine.next_action(clock_ms=0)
    assert isinstance(action, WriteSeal)
    assert action.seal == seal(window(0), 1)
    assert action.early is EarlyBecause.MANY_OPEN
    machine.apply_seal(action.seal)
    assert put(machine, 2, (3, 5)).late == 1
    complete(machine)
    assert machine.next_action(clock_ms=0) is None


def test_the_committable_offset_is_the_first_chunk_of_the_open_windows() -> None:
    """
    Nothing before the first message; then the oldest chunk that an open window needs; with none open, the next one.
    """
    machine = partition()
    assert machine.committable_offset() is None
    machine.skip(6)
    assert machine.committable_offset() == 7
    put(machine, 7, (0, 15))
    put(machine, 8, (1, 5))
    machine.apply_seal(seal(window(0), 8))
    assert machine.committable_offset() == 7
    machine.released(seal(window(0), 8))
    assert machine.committable_offset() == 7  # it is not completed before that is written
    complete_it = next_when_idle(machine)
    assert isinstance(complete_it, WriteCompletion)
    machine.completed(complete_it)
    assert machine.committable_offset() == 7
    machine.apply_seal(seal(window(10), 8))
    complete(machine)
    assert machine.committable_offset() == 9


def test_a_restart_from_seals_and_committed_offset_rebuilds_the_same_window() -> None:
    """
    A successor that knows only the seals, and reads from the committed offset, releases the same rows.
    """
    first, second = partition(), partition()
    for offset in range(4):
        put(first, offset, (offset, 5 + 10 * (offset == 2)))
    records = [seal(window(0), 2, n_rows=2), seal(window(0), 3, n_rows=3, writer="another")]
    for record in records:
        first.apply_seal(record)
        second.apply_seal(record)
    assert first.committable_offset() == 0
    for offset in range(4):
        put(second, offset, (offset, 5 + 10 * (offset == 2)))
    assert released(first) == released(second) == [0, 1]


def test_what_was_repeated_before_a_restart_is_not_released_after_it() -> None:
    """
    Records [0] of a completed window are forwarded again at [2]; a successor that starts at [1] never saw [0]: late.
    """
    machine = partition()
    machine.apply_seal(completion(10))
    put(machine, 1, (1, 15))
    assert put(machine, 2, (0, 5), (1, 15)) == Accepted(buffered=0, late=0, duplicates=2)
    fresh = partition()
    fresh.apply_seal(completion(10))
    assert put(fresh, 2, (0, 5)) == Accepted(buffered=0, late=1, duplicates=0)


def test_applying_a_record_again_changes_nothing() -> None:
    """
    Seals and completions may be read twice.
    """
    machine = partition()
    put(machine, 0, (0, 5), (1, 15))
    for _ in range(2):
        machine.apply_seal(seal(window(0), 0))
        assert released(machine) == [0]
    for _ in range(2):
        machine.apply_seal(completion(10))
        machine.apply_seal(seal(window(0), 0))
        assert machine.open_windows == machine.buffered_rows == 1


def test_a_completion_never_goes_back() -> None:
    """
    A zombie's completion of an earlier window, written late, opens nothing again.
    """
    machine = partition()
    machine.apply_seal(completion(30))
    machine.apply_seal(completion(10))
    assert put(machine, 0, (0, 25)).late == 1
    assert machine.apply_seal(seal(window(20), 5)) == 0
    assert machine.open_windows == 0


def test_a_completion_by_another_drops_what_is_open() -> None:
    """
    Rows of windows that somebody else completed are dropped and counted.
    """
    machine = partition()
    put(machine, 0, (0, 5), (1, 15), (2, 25))
    assert machine.apply_seal(completion(20)) == 2
    assert machine.buffered_rows == 1


def test_a_completion_removes_every_record_that_it_replaces() -> None:
    """
    Seals that lost, seals that came too late and older completions go; those of open windows stay.
    """
    machine = partition()
    put(machine, 0, (0, 15), (1, 25))
    machine.skip(1)
    stays = seal(window(20), 0)
    goes: set[SealRecord] = {
        completion(5),
        seal(window(10), 0),
        seal(window(10), 1, writer="another"),
        seal(window(0), 1, writer="another"),
    }
    for record in sorted(goes, key=repr, reverse=True):
        machine.apply_seal(record)
    machine.apply_seal(stays)
    machine.apply_seal(completion(5, "b"))
    assert set(complete(machine).obsolete) == goes
    assert set(complete(machine).obsolete) == {stays, completion(20, last_offset=1)}


def test_rows_of_a_released_window_that_are_read_again_are_not_late() -> None:
    """
    [0] 5, [1] 15 are released with the window of 15 sealed at offset 1; [2] 5 was late. A successor that reads all of
    it again knows the first two, and counts what came after the seal as late.
    """
    machine = partition()
    machine.apply_seal(completion(20, last_offset=1))
    assert put(machine, 0, (0, 5)) == Accepted(buffered=0, late=0, duplicates=0, reread=1)
    assert put(machine, 1, (1, 15), (2, 25)) == Accepted(buffered=1, late=0, duplicates=0, reread=1)
    assert put(machine, 2, (3, 5)) == Accepted(buffered=0, late=1, duplicates=0)


def test_when_nothing_more_can_be_buffered_the_oldest_window_is_sealed_early() -> None:
    """
    Nothing is due, and all the room is taken: of two shards' windows the older one is sealed. A window that waits for
    rows of its seal is none to seal.
    """
    machine = partition()
    put(machine, 0, (0, 15), shard="a")
    put(machine, 1, (1, 5), shard="b")
    assert machine.next_action(clock_ms=0) is None
    assert machine.oldest_unsealed == window(0, "b")
    action = machine.next_action(clock_ms=0, early=True)
    assert isinstance(action, WriteSeal)
    assert action.seal.key == window(0, "b")
    assert action.early is EarlyBecause.BUFFERS_FULL
    machine.apply_seal(seal(window(0, "b"), 7))
    assert machine.oldest_unsealed == window(10, "a")
    machine.apply_seal(seal(window(10, "a"), 7))
    assert machine.oldest_unsealed is None
    assert machine.next_action(clock_ms=0, early=True) is None


def test_silence_closes_no_window_that_has_not_ended() -> None:
    """
    A pause of all sources closes the window of 5, and not that of 95: one clock is ahead, and when the others come back
    their records are not late. As time goes on that window closes too.
    """
    machine = partition()
    put(machine, 0, (0, 5), source=OTHER, n_partitions=2)
    put(machine, 1, (0, 95), source=Source("checkins", 0), n_partitions=2)
    action = machine.next_action(clock_ms=10 * IDLE_MS, now_ms=10)
    assert isinstance(action, WriteSeal)
    assert action.seal.key == window(0)
    machine.apply_seal(action.seal)
    complete(machine)
    assert machine.next_action(clock_ms=20 * IDLE_MS, now_ms=99) is None
    assert put(machine, 2, (1, 15), source=OTHER).late == 0
    assert isinstance(machine.next_action(clock_ms=40 * IDLE_MS, now_ms=100), WriteSeal)


class TestInputs:
    INPUTS = {"checkins": 2, "other": 1}  # noqa: RUF012 - nobody changes it

    def test_no_window_closes_before_every_input_is_heard(self) -> None:
        """
        The backlog of another topic is read last: its old records find their windows open, which are then sealed.
        """
        machine = partition()
        machine.expect(Kind.CHECKINS, self.INPUTS, clock_ms=0)
        machine.expect(Kind.FRAGMENTS, {"fragments": 1}, clock_ms=0)  # a feed that is not read
        for offset, number in enumerate((0, 1)):
            put(machine, offset, (0, 5), (1, 95), source=Source("checkins", number))
        assert machine.next_action(clock_ms=0, now_ms=NOW_MS) is None
        assert put(machine, 2, (0, 7), source=Source("other", 0), n_partitions=1).late == 0
        put(machine, 3, (1, 10), source=Source("other", 0), n_partitions=1)
        action = machine.next_action(clock_ms=0, now_ms=NOW_MS)
        assert isinstance(action, WriteSeal)
        assert (action.seal.key, action.seal.n_rows) == (window(0), 3)

    @given(
        times=st.lists(st.lists(st.integers(0, 59), min_size=1, max_size=8).map(sorted), min_size=3, max_size=3),
        order=st.randoms(use_true_random=False),
        named_ms=st.integers(0, 5 * IDLE_MS),
    )
    def test_nothing_is_late_in_whatever_order_topics_are_read(
        self, times: list[list[int]], order: Random, named_ms: int
    ) -> None:
        """
        Three sources of two topics, each in the order of its times, read in any order from a backlog, and every window
        sealed as soon as it is due.
        """
        sources = [Source("checkins", 0), Source("checkins", 1), Source("other", 0)]
        machine = partition()
        machine.expect(Kind.CHECKINS, self.INPUTS, clock_ms=0)
        left = [(source, list(enumerate(each))) for source, each in zip(sources, times, strict=True)]
        late = offset = 0
        while left:
            source, records = order.choice(left)
            late += put(machine, offset, records.pop(0), source=source, clock_ms=named_ms).late
            offset += 1
            left = [(source, records) for source, records in left if records]
            while (action := machine.next_action(clock_ms=named_ms, now_ms=NOW_MS)) is not None:
                if isinstance(action, WriteSeal):
                    machine.apply_seal(action.seal)
                elif isinstance(action, ReleaseWindow):
                    machine.released(action.seal)
                else:
                    machine.completed(action)
        assert late == 0


class TestManyWindows:
    @given(
        steps=st.lists(
            st.tuples(
                st.sampled_from(["put", "seal", "act"]),
                st.sampled_from("abc"),
                st.integers(0, 59),
                st.integers(0, 3),
            ),
            max_size=40,
        )
    )
    def test_the_next_action_is_what_a_look_at_every_window_finds(self, steps: list[tuple[str, str, int, int]]) -> None:
        """
        Whatever was put, sealed by others or done before: the next action is the one that its rules name when every
        open window is looked at.
        """
        machine = partition(max_open=2)
        clock_ms = 0
        for offset, (what, shard, at_ms, ahead) in enumerate(steps):
            key = window(at_ms - at_ms % 10, shard)
            if what == "put":
                clock_ms += 300 * (ahead == 3)
                put(machine, offset, (offset, at_ms), shard=shard, n_partitions=1, clock_ms=clock_ms)
            elif what == "seal":
                machine.apply_seal(seal(key, offset + ahead, writer="another"))
            elif (action := machine.next_action(clock_ms=clock_ms, now_ms=NOW_MS)) is not None:
                assert_is_what_is_due(machine, action, clock_ms)
                if isinstance(action, WriteSeal):
                    machine.apply_seal(action.seal)
                elif isinstance(action, ReleaseWindow):
                    machine.released(action.seal)
                else:
                    machine.completed(action)
            else:
                assert due_by_looking_at_every_window(machine, clock_ms) == (None, None)


def assert_is_what_is_due(machine: Partition, action: Action, clock_ms: int) -> None:
    if isinstance(action, WriteCompletion):
        return
    release, to_seal = due_by_looking_at_every_window(machine, clock_ms)
    if isinstance(action, ReleaseWindow):
        assert action.seal.key == release
    else:
        assert release is None
        assert action.seal.key == to_seal


def due_by_looking_at_every_window(machine: Partition, clock_ms: int) -> tuple[WindowKey | None, WindowKey | None]:
    """Return which sealed window can be released and which unsealed one is due, by the rules alone."""
    feed, next_offset = machine._feeds[Kind.CHECKINS], machine._next_offset
    value, idle = feed.watermark.value_ms(clock_ms=clock_ms), feed.watermark.is_idle(clock_ms=clock_ms)
    release: WindowKey | None = None
    to_seal: WindowKey | None = None
    oldest: dict[str, WindowKey] = {}
    for key in sorted(feed.windows):
        oldest.setdefault(key.shard, key)
    for key in sorted(oldest.values()):
        n_open = sum(other.shard == key.shard for other in feed.windows)
        if key in feed.seals:
            if release is None and next_offset is not None and next_offset > feed.seals[key].last_offset:
                release = key
        elif next_offset is not None and to_seal is None:
            passed = value is not None and key.end_ms <= value
            if passed or (idle and key.end_ms <= NOW_MS) or n_open > feed.policy.max_open:
                to_seal = key
    return release, to_seal


def roster(key: WindowKey, part: int = 0, n_parts: int = 1) -> Roster:
    return Roster(key=key, users=np.array([7], np.uint64), groups=np.zeros(1, np.int64), part=part, n_parts=n_parts)


class TestIdleShardsForget:
    """
    Shard "a" has released its window [10, 20) and then has no records; the horizon is 3 windows. Windows up to [30, 40)
    depend on that roster. Shard "b" moves the watermark on.
    """

    def machine(self, *parts: Roster) -> Partition:
        machine = partition(horizon=3)
        machine.apply_seal(completion(20, last_offset=4))
        for part in parts or (roster(window(10)),):
            machine.apply_seal(part)
        machine.skip(9)
        return machine

    def reach(self, machine: Partition, offset: int, at_ms: int, shard: str = "b") -> None:
        put(machine, offset, (offset, at_ms), shard=shard, n_partitions=1, source=Source("checkins", 0))

    def test_once_no_window_can_depend_on_them(self) -> None:
        """
        Not before the watermark has passed the last window that can; then this window is sealed without rows, nothing
        of it is released, and its completion removes the roster in all its parts.
        """
        parts = roster(window(10), 0, 2), roster(window(10), 1, 2)
        machine = self.machine(*parts)
        self.reach(machine, 10, 39)
        assert machine.next_action(clock_ms=0) is None
        self.reach(machine, 11, 40)
        released_b = machine.next_action(clock_ms=0)
        assert isinstance(released_b, WriteSeal)
        assert released_b.seal.key == window(30, "b")
        machine.apply_seal(released_b.seal)
        complete(machine)
        action = machine.next_action(clock_ms=0)
        assert isinstance(action, WriteSeal)
        assert (action.seal, len(action.rows)) == (seal(window(30), 11, n_rows=0), 0)
        machine.apply_seal(action.seal)
        done = machine.next_action(clock_ms=0)
        assert done == WriteCompletion(
            completion(40, last_offset=11), (action.seal, completion(20, last_offset=4), *parts)
        )
        machine.completed(done)
        assert machine.next_action(clock_ms=0) is None
        assert not machine.has_roster(window(10))

    def test_a_record_before_that_still_finds_them(self) -> None:
        machine = self.machine()
        self.reach(machine, 10, 39)
        self.reach(machine, 11, 35, shard="a")
        self.reach(machine, 12, 40)
        sealed = [action for action in self.carry_out(machine) if isinstance(action, WriteSeal)]
        assert [(one.seal.key, len(one.history.rosters)) for one in sealed] == [(window(30), 1), (window(30, "b"), 0)]
        assert not machine.has_roster(window(10))  # the release of [30, 40) has removed it

    def test_a_record_after_that_is_late(self) -> None:
        """
        It would open a window that depends on what is forgotten; a record of the next window does not.
        """
        machine = self.machine()
        self.reach(machine, 10, 50)
        self.carry_out(machine)
        assert put(machine, 11, (0, 39), (1, 40)) == Accepted(buffered=1, late=1, duplicates=0)

    def test_silence_forgets_nothing_that_the_watermark_has_not_passed(self) -> None:
        """
        After an outage the next records may be of just those windows. What the watermark has passed is forgotten even
        if other windows came first and all sources are silent by then.
        """
        machine = self.machine()
        self.reach(machine, 10, 39)
        assert [type(action) for action in self.carry_out(machine, clock_ms=10 * IDLE_MS)] == [
            WriteSeal,
            ReleaseWindow,
            WriteCompletion,
        ]
        assert machine.has_roster(window(10))
        self.reach(machine, 11, 45)
        self.reach(machine, 12, 55)
        others = machine.next_action(clock_ms=0)
        assert isinstance(others, WriteSeal)
        assert others.seal.key == window(40, "b")
        self.carry_out(machine, clock_ms=20 * IDLE_MS)
        assert not machine.has_roster(window(10))

    def test_a_record_that_comes_while_the_seal_is_written_is_late(self) -> None:
        machine = self.machine()
        self.reach(machine, 10, 50)
        action = machine.next_action(clock_ms=0)
        assert isinstance(action, WriteSeal)
        assert action.seal.key == window(30)
        assert put(machine, 11, (0, 25), (1, 39)).buffered == 2
        assert machine.apply_seal(action.seal) == 2
        assert isinstance(machine.next_action(clock_ms=0), WriteCompletion)

    def test_a_rival_that_had_records_comes_first(self) -> None:
        """
        Somebody else sealed the same window with a record first: that is what it contains, and it is released.
        """
        machine = self.machine()
        self.reach(machine, 10, 50)
        action = machine.next_action(clock_ms=0)
        assert isinstance(action, WriteSeal)
        put(machine, 11, (0, 39))
        machine.apply_seal(seal(window(30), 11, writer="another"))
        assert machine.apply_seal(action.seal) == 0
        assert released(machine) == [0]

    def test_a_worker_that_stopped_before_the_removal_leaves_the_rest_to_the_next(self) -> None:
        """
        No window needs to be sealed again: the completion is written once more, and the roster is removed.
        """
        kept = roster(window(10))
        machine = self.machine(kept)
        machine.apply_seal(completion(40, last_offset=8))
        self.reach(machine, 10, 50)
        action = machine.next_action(clock_ms=0)
        assert action == WriteCompletion(completion(40, last_offset=8), (completion(20, last_offset=4), kept))

    def test_a_seal_without_rows_is_completed_by_whoever_finds_it(self) -> None:
        machine = self.machine()
        machine.apply_seal(seal(window(30), 10, n_rows=0, writer="another"))
        assert machine.next_action(clock_ms=0) is None  # offset 10 may hold a record of the shard
        machine.skip(10)
        assert isinstance(machine.next_action(clock_ms=0), WriteCompletion)

    def test_rows_that_a_seal_without_rows_does_not_know_are_not_dropped_in_silence(self) -> None:
        """
        The window is handed on as any other, and withheld there, because the seal counts other rows.
        """
        machine = self.machine()
        put(machine, 10, (0, 39))
        machine.apply_seal(seal(window(30), 10, n_rows=0, writer="another"))
        assert released(machine) == [0]

    def carry_out(self, machine: Partition, *, clock_ms: int = 0) -> list[Action]:
        """Carry out all that is due."""
        actions = []
        while (action := machine.next_action(clock_ms=clock_ms)) is not None:
            actions.append(action)
            if isinstance(action, WriteSeal):
                machine.apply_seal(action.seal)
            elif isinstance(action, ReleaseWindow):
                machine.released(action.seal)
            else:
                machine.completed(action)
        return actions


def test_seals_of_a_kind_that_is_switched_off_wait() -> None:
    """
    Seals of fragments are no matter of a worker that reads check-ins alone: its own windows go on.
    """
    machine = partition()
    machine.apply_seal(seal(WindowKey(10, Kind.FRAGMENTS, "a", 0), 3))
    machine.apply_seal(SealedUntil(kind=Kind.FRAGMENTS, shard="a", until_ms=10))
    put(machine, 0, (0, 5))
    action = next_when_idle(machine)
    assert isinstance(action, WriteSeal)
    assert action.seal.key == window(0)


@pytest.mark.parametrize("first", ["accept", "skip"])
@pytest.mark.parametrize("then", ["accept", "skip"])
@pytest.mark.parametrize("offset", [0, 4, 5])
def test_offsets_ascend(first: str, then: str, offset: int) -> None:
    """
    A message at or below one that was read is refused, and changes nothing: who read it out of its order has passed
    over others, and windows would lack them.
    """
    machine = partition()

    def read(how: str, at: int, record: int) -> None:
        if how == "accept":
            put(machine, at, (record, 5))
        else:
            machine.skip(at)

    read(first, 5, 0)
    rows, committable = machine.buffered_rows, machine.committable_offset()
    with pytest.raises(ValueError, match=f"offset {offset} after offset 5"):
        read(then, offset, 1)
    assert (machine.buffered_rows, machine.committable_offset()) == (rows, committable)
    read(then, 7, 1)  # offsets may be left out: markers of transactions take some
