"""The input reader: whatever cannot be read, nothing else is lost or returned twice, and it is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import hypothesis.strategies as st
import pytest
from aiokafka import TopicPartition
from aiokafka.errors import (
    CorruptRecordException,
    GroupAuthorizationFailedError,
    KafkaError,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
    UnsupportedCodecError,
)
from hypothesis import given

from stream.ingest.input_reader import InputReader
from stream.kafka.client import Operation

A, B, C = (TopicPartition("checkins", number) for number in range(3))
SNAPPY = UnsupportedCodecError("Libraries for snappy compression codec not found")


class Message(NamedTuple):
    offset: int


class Consumer:
    """Reads as aiokafka does: a fault loses what was in hand, and the positions of other partitions stay moved."""

    def __init__(self, ends: dict[TopicPartition, int], faults: dict[tuple[TopicPartition, int], KafkaError]) -> None:
        self.ends, self.faults = ends, faults
        self.positions = dict.fromkeys(ends, 0)
        self.commits: dict[TopicPartition, int] = {}
        self.broken: KafkaError | None = None
        self.cold: set[TopicPartition] = set()
        """Of these nothing is fetched yet: a call finds nothing, and begins to fetch."""

    def assignment(self) -> set[TopicPartition]:
        return set(self.ends)

    async def committed(self, at: TopicPartition) -> int | None:
        return self.commits.get(at)

    def seek(self, at: TopicPartition, offset: int) -> None:
        self.positions[at] = offset
        self.cold.add(at)

    async def seek_to_beginning(self, at: TopicPartition) -> None:
        self.seek(at, 0)

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int, max_records: int
    ) -> dict[TopicPartition, list[Message]]:
        if self.broken is not None:
            raise self.broken
        drained: dict[TopicPartition, list[Message]] = {}
        for at in partitions or sorted(self.ends):
            got: list[Message] = []
            if at in self.cold:
                self.cold.remove(at)
                continue
            while self.positions[at] + len(got) < self.ends[at] and len(got) < max_records:
                offset = self.positions[at] + len(got)
                if (at, offset) in self.faults:
                    self.cold.add(at)
                    raise self.faults[at, offset]
                got.append(Message(offset))
            self.positions[at] += len(got)
            max_records -= len(got)
            if got:
                drained[at] = got
            if not max_records:
                break
        return drained


class Reading:
    """A reader, its time, and all that it has returned."""

    def __init__(self, consumer: Consumer) -> None:
        self.troubles: list[Operation] = []
        self.passed_s = 0.0
        self.reader = InputReader(consumer, on_trouble=self.troubles.append, passed_s=lambda: self.passed_s)
        self.found: dict[TopicPartition, list[int]] = {at: [] for at in consumer.ends}
        for at in consumer.ends:
            self.reader.begin_at(at, consumer.positions.get(at, 0))

    async def read(self, n_times: int, *, max_records: int = 10, partitions: Iterable[TopicPartition] = ()) -> None:
        for _ in range(n_times):
            batches = await self.reader.read(list(partitions), timeout_ms=0, max_records=max_records)
            assert sum(map(len, batches.values())) <= max_records
            for at, messages in batches.items():
                assert messages
                self.found[at] += [message.offset for message in messages]
            self.passed_s += 1


async def test_what_can_be_read_is_read() -> None:
    """
    Partition B cannot be read from offset 3: A and C are read to their ends, B up to 2, each record once.
    """
    consumer = Consumer({A: 20, B: 8, C: 20}, {(B, 3): SNAPPY})
    reading = Reading(consumer)
    await reading.read(30)
    assert reading.found == {A: list(range(20)), B: [0, 1, 2], C: list(range(20))}
    assert reading.reader.n_unreadable == 1
    said = str(reading.reader.check())
    assert said.startswith("partition 1, offset 3: topic checkins holds records compressed with snappy")
    assert "install the Python package cramjam" in said
    assert set(reading.troubles) == {"read input"}
    assert len(reading.troubles) < 12  # with pauses
    consumer.faults.clear()
    await reading.read(10)
    assert reading.found[B] == list(range(8))
    assert reading.reader.check() is True


async def test_where_a_partition_was_begun_is_where_it_goes_back_to() -> None:
    """
    Where nothing was returned yet, a fault brings partitions back to where they were begun, not to the beginning.
    """
    consumer = Consumer({A: 8, B: 8}, {(B, 6): CorruptRecordException("Invalid CRC")})
    consumer.positions = {A: 4, B: 5}
    reading = Reading(consumer)
    await reading.read(8)
    assert reading.found == {A: [4, 5, 6, 7], B: [5]}
    assert "CorruptRecordException" in str(reading.reader.check())


@given(
    ends=st.lists(st.integers(0, 12), min_size=3, max_size=3),
    faulty=st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 11)), st.integers(1, 30), max_size=4),
    max_records=st.integers(1, 12),
)
async def test_nothing_is_lost_or_doubled(
    ends: list[int], faulty: dict[tuple[int, int], int], max_records: int
) -> None:
    """
    Whatever faults come and pass: in the end every record of every partition was returned once, in order.
    """
    at = (A, B, C)
    faults: dict[tuple[TopicPartition, int], KafkaError] = {(at[n], offset): SNAPPY for n, offset in faulty}
    reading = Reading(Consumer(dict(zip(at, ends, strict=True)), faults))
    for step in range(1, 31):
        await reading.read(1, max_records=max_records)
        for (n, offset), lasts in faulty.items():
            if lasts == step:
                faults.pop((at[n], offset))
    await reading.read(60, max_records=max_records)
    assert reading.found == {one: list(range(end)) for one, end in zip(at, ends, strict=True)}
    assert reading.reader.check() is True


async def test_a_record_that_goes_away_is_waited_for_no_longer() -> None:
    """
    A partition whose faulty record was deleted counts as readable although nothing more comes.
    """
    consumer = Consumer({A: 4}, {(A, 3): RecordTooLargeError("too large")})
    reading = Reading(consumer)
    await reading.read(5)
    assert reading.reader.check() is not True
    consumer.faults.clear()
    consumer.positions[A] = 4
    await reading.read(20)
    assert reading.reader.check() is True


async def test_a_right_that_is_gone_is_waited_for() -> None:
    """
    Without the right to read a topic its partitions wait, and the sentence names the right; without any partition the
    trouble is counted all the same.
    """
    reading = Reading(Consumer({A: 4}, {(A, 0): TopicAuthorizationFailedError("checkins")}))
    await reading.read(2)
    assert "the worker's user may not read topic checkins" in str(reading.reader.check())
    consumer = Consumer({}, {})
    consumer.broken = TopicAuthorizationFailedError("checkins")
    nothing = Reading(consumer)
    await nothing.read(1)
    assert nothing.troubles == ["read input"]
    assert nothing.reader.check() is True


async def test_a_rebalance_forgets() -> None:
    """
    What somebody else reads now is not waited for.
    """
    consumer = Consumer({A: 4}, {(A, 0): SNAPPY})
    reading = Reading(consumer)
    await reading.read(2)
    assert reading.reader.n_unreadable == 1
    reading.reader.forget()
    assert reading.reader.check() is True


@pytest.mark.parametrize(
    "fault", [KafkaError("Unexpected error during coordination"), GroupAuthorizationFailedError("g")]
)
async def test_a_consumer_that_has_ended_is_not_asked_again(fault: KafkaError) -> None:
    """
    Where the consumer itself has come to its end, only a new one goes on: the fault is raised.
    """
    consumer = Consumer({A: 4}, {})
    consumer.broken = fault
    with pytest.raises(type(fault)):
        await Reading(consumer).read(1)
