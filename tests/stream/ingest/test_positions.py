"""Positions of the input: jumps are found, told once, and hold up nobody else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, KafkaConnectionError
from prometheus_client import CollectorRegistry

from core.records.record import Kind
from stream.ingest import positions
from stream.ingest.positions import Positions
from stream.kafka.log_start import AgreedStart, Jump, LogId, Mark, Start, mark_from_text, start_from
from stream.kafka.topic_ids import FoundTopic
from stream.observe.metrics import Metrics
from stream.settings.input_topics import FeedTopics
from stream.settings.kafka import KafkaSettings, TopicSettings

TOPIC = "checkins"
A, B = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
OLD, NEW, NEWER = "1" * 32, "2" * 32, "3" * 32


@pytest.mark.parametrize(
    ("committed", "known", "topic_id", "first", "end", "start"),
    [
        (12, LogId(OLD), OLD, 0, 40, Start(offset=12, log_id=LogId(OLD))),
        (12, LogId(OLD, 2), OLD, 12, 12, Start(offset=12, log_id=LogId(OLD, 2))),
        (12, LogId(""), OLD, 0, 40, Start(offset=12, log_id=LogId(OLD))),
        (12, LogId(OLD), "", 0, 40, Start(offset=12, log_id=LogId(""))),
        (12, LogId(OLD), NEW, 3, 40, Start(offset=3, log_id=LogId(NEW), jump=Jump.RECREATED)),
        (12, LogId(OLD, 1), OLD, 0, 11, Start(offset=0, log_id=LogId(OLD, 2), jump=Jump.WENT_BACK)),
        (12, LogId(OLD, 1), OLD, 20, 40, Start(offset=20, log_id=LogId(OLD, 1), jump=Jump.DELETED, lost=8)),
        (None, None, OLD, 5, 40, Start(offset=5, log_id=LogId(OLD), jump=Jump.FORGOTTEN)),
        (None, LogId(OLD), NEW, 5, 40, Start(offset=5, log_id=LogId(NEW), jump=Jump.RECREATED)),
    ],
)
def test_what_was_left_and_what_is_there_decide(
    committed: int | None, known: LogId | None, topic_id: str, first: int, end: int, start: Start
) -> None:
    """
    An offset counts in its own log alone, and only where that log still has it.
    """
    assert start_from(committed, known, topic_id=topic_id, first=first, end=end, has_worked=True) == start


def test_a_first_start_is_no_jump() -> None:
    """
    Where nothing was ever sealed, nothing can have been forgotten.
    """
    assert start_from(None, None, topic_id=OLD, first=0, end=9, has_worked=False).jump is None


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"topic": "words"}', '{"topic": 7}', "[" * 5000, "a note"])
def test_what_other_programs_commit_says_nothing(text: str | None) -> None:
    """
    The metadata of a commit is anybody's: what is no mark of ours is none.
    """
    assert mark_from_text(text) == Mark()


class Cluster:
    """A topic, what its group has committed, and a consumer of it."""

    def __init__(self) -> None:
        self.topics: dict[str, FoundTopic] = {TOPIC: FoundTopic(OLD, 2)}
        self.assigned = {A, B}
        self.firsts, self.ends, self.at = {A: 0, B: 0}, {A: 0, B: 0}, {A: 0, B: 0}
        self.commits: dict[TopicPartition, SimpleNamespace] = {}
        self.refuses: list[Exception] = []
        """What the next commits end with."""

    def assignment(self) -> set[TopicPartition]:
        return set(self.assigned)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(self.topics[topic].n_partitions))

    def subscription(self) -> set[str]:
        return set(self.topics)

    def highwater(self, at: TopicPartition) -> int:
        return self.ends[at]

    def seek(self, at: TopicPartition, offset: int) -> None:
        self.at[at] = offset

    async def position(self, at: TopicPartition) -> int:
        return self.at[at]

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {at: self._there(at, self.firsts) for at in partitions}

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {at: self._there(at, self.ends) for at in partitions}

    def _there(self, at: TopicPartition, offsets: Mapping[TopicPartition, int]) -> int:
        assert at.partition < self.topics[at.topic].n_partitions, "the client waits for long where nothing is"
        return offsets[at]

    async def commit(self, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        if self.refuses:
            raise self.refuses.pop(0)
        self.commits |= {at: SimpleNamespace(offset=o, metadata=m) for at, (o, m) in offsets.items()}


class Scene:
    """The positions of a worker, and what it would forward."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        sealed_kinds: Sequence[Kind] = (Kind.CHECKINS,),
        starts: Mapping[TopicPartition, AgreedStart] | None = None,
        checkins: str = TOPIC,
    ) -> None:
        self.cluster, self.metrics = cluster, Metrics(CollectorRegistry())
        self.positions = Positions(
            KafkaSettings(),
            cluster,
            SimpleNamespace(client=cluster),
            FeedTopics(TopicSettings(checkins=checkins)),
            {},
            sealed_kinds,
            starts or {},
            self.metrics,
            on_trouble=lambda _: None,
            on_start=lambda *_: None,
        )

    async def place(self) -> None:
        self.positions._tried_s = -1e9
        await self.positions.place()

    async def read(self, at: TopicPartition, *offsets: int) -> list[str]:
        """Let the client return records, and give the logs that they are taken to be of."""
        self.cluster.at[at] = offsets[-1] + 1 if offsets else self.cluster.at[at]
        fetched = {at: [SimpleNamespace(offset=offset) for offset in offsets]} if offsets else {}
        batches = await self.positions.continued(fetched)
        ends = {batch.partition: batch.messages[-1].offset + 1 for batch in batches}
        offsets_ = self.positions.take_moves() | ends
        commits = {one: self.positions.commit_of(one, offset) for one, offset in offsets_.items()}
        await self.cluster.commit({one: commit for one, commit in commits.items() if commit is not None})
        return [batch.log_id for batch in batches]

    async def look(self) -> None:
        self.positions._looked_s = -1e9
        await self.read(A)

    def jumps(self) -> dict[str, float]:
        found = {jump: self.metrics.input_jumps.labels(Kind.CHECKINS, jump)._value.get() for jump in Jump}
        return {jump.value: n for jump, n in found.items() if n}

    def lost(self) -> float:
        return float(self.metrics.lost_input_records.labels(Kind.CHECKINS)._value.get())


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    one = Cluster()

    async def find_topics(*_: Any) -> dict[str, FoundTopic]:
        return dict(one.topics)

    async def commits_of(_: Any, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Any]:
        return {at: one.commits.get(at, SimpleNamespace(offset=-1, metadata="")) for at in partitions}

    async def is_beyond_end(_: Any, at: TopicPartition, offset: int) -> bool:
        return offset > one.ends[at]

    for name, stand_in in (("find_topics", find_topics), ("commits_of", commits_of), ("is_beyond_end", is_beyond_end)):
        monkeypatch.setattr(positions, name, stand_in)
    return one


async def test_a_topic_with_fewer_partitions_than_before_holds_up_nobody(cluster: Cluster) -> None:
    """
    Made again with one partition of two: the one is read anew; the other, which the group still assigns, waits, and
    readiness says so after a while.
    """
    scene = Scene(cluster)
    await scene.place()
    cluster.topics = {TOPIC: FoundTopic(NEW, 1)}
    assert await scene.read(A, 0) == []
    await scene.place()
    assert scene.positions.placed == {A}
    assert await scene.read(A, 0) == [NEW]
    assert scene.positions.check() is True
    scene.positions._unplaced_since_s -= 60
    assert "partition 1 of topic checkins has no position" in str(scene.positions.check())
    cluster.assigned = {A}
    await scene.place()
    assert scene.positions.check() is True


async def test_a_broker_that_lags_behind_sends_nothing_back(cluster: Cluster) -> None:
    """
    Ids are never given twice: after the new one, the old one is an old answer. So it is after a restart.
    """
    scene = Scene(cluster, sealed_kinds=())
    await scene.place()
    cluster.topics = {TOPIC: FoundTopic(NEW, 2)}
    await scene.look()
    await scene.place()
    assert await scene.read(A, 0, 1) == [NEW]
    cluster.topics = {TOPIC: FoundTopic(OLD, 2)}
    assert await scene.read(A, 2, 3) == [NEW]
    again = Scene(cluster)
    await again.place()
    assert again.positions.placed == set()
    cluster.topics = {TOPIC: FoundTopic(NEW, 2)}
    cluster.ends = {A: 4, B: 0}
    await again.place()
    assert (again.positions.placed, again.jumps(), cluster.at[A]) == ({A, B}, {}, 4)
    assert scene.jumps() == {"recreated": 2.0}


@pytest.mark.parametrize("fault", [CommitFailedError(), KafkaConnectionError()])
async def test_a_jump_is_told_once_and_only_after_it_is_committed(cluster: Cluster, fault: Exception) -> None:
    """
    A successor must number the log alike. Until that is committed the partition is not read, and nothing is forgotten.
    """
    scene = Scene(cluster, sealed_kinds=())
    await scene.place()
    await scene.read(A, *range(500))
    cluster.ends[A] = 600
    assert await scene.read(A, 0, 1) == []  # the client went to the beginning by itself: its offset was beyond the end
    cluster.refuses = [fault, fault]
    for _ in range(2):
        await scene.place()
        assert (scene.positions.placed, scene.jumps()) == ({B}, {})
    await scene.place()
    assert (scene.positions.placed, scene.jumps(), cluster.at[A]) == ({A, B}, {"went_back": 1.0}, 0)
    assert await scene.read(A, 0, 1) == [f"{OLD}+1"]


async def test_markers_of_transactions_are_no_records_that_could_be_lost(cluster: Cluster) -> None:
    """
    Offsets that hold no record are passed and committed, so that nothing is missed when the log begins behind them.
    """
    scene = Scene(cluster, sealed_kinds=())
    await scene.place()
    assert await scene.read(A, 0, 1, 2) == [OLD]
    cluster.at[A] = cluster.ends[A] = 5  # two markers
    await scene.look()
    assert cluster.commits[A].offset == 5
    cluster.firsts[A] = 5
    await scene.look()
    again = Scene(cluster)
    await again.place()
    assert (scene.lost(), again.lost(), scene.jumps(), again.jumps()) == (0, 0, {}, {})


async def test_what_is_deleted_unread_is_counted_once(cluster: Cluster) -> None:
    """
    What is in hand was read, whatever has been deleted since; what lies between is lost.
    """
    scene = Scene(cluster, sealed_kinds=())
    await scene.place()
    await scene.read(A, 0, 1)
    cluster.firsts[A] = 12
    assert await scene.read(A, 10, 11) == [OLD]
    assert scene.lost() == 8
    await scene.look()
    assert (scene.lost(), scene.jumps()) == (8, {"deleted": 1.0})


async def test_a_topic_that_a_pattern_finds_is_not_forgotten(cluster: Cluster) -> None:
    """
    With a pattern topics appear in the course of things, and are read from their beginning without an alarm. If no
    topic of the feed has a commit, the group's offsets are lost.
    """
    new = TopicPartition("checkins-2", 0)
    await Scene(cluster, sealed_kinds=(), checkins="^checkins.*").place()
    cluster.topics["checkins-2"] = FoundTopic(NEW, 1)
    cluster.assigned.add(new)
    for offsets in (cluster.firsts, cluster.ends, cluster.at):
        offsets[new] = 0
    again = Scene(cluster, checkins="^checkins.*")
    await again.place()
    assert (again.positions.placed, again.jumps()) == ({A, B, new}, {})
    cluster.commits.clear()
    forgotten = Scene(cluster, checkins="^checkins.*")
    await forgotten.place()
    assert forgotten.jumps() == {"forgotten": 3.0}


AGREED = {A: AgreedStart(30, OLD), B: AgreedStart(7, OLD)}


async def test_a_feed_begins_where_it_was_agreed(cluster: Cluster) -> None:
    """
    The agreed offsets hold where the group has none, are committed at once, and count no longer once there are commits.
    """
    cluster.ends = {A: 40, B: 7}
    scene = Scene(cluster, sealed_kinds=(), starts=AGREED)
    await scene.place()
    assert (cluster.at, scene.jumps()) == ({A: 30, B: 7}, {})
    assert {at: commit.offset for at, commit in cluster.commits.items()} == {A: 30, B: 7}
    assert await scene.read(A, 30, 31) == [OLD]
    again = Scene(cluster, starts=AGREED)
    await again.place()
    assert (cluster.at[A], again.jumps()) == (32, {})


@pytest.mark.parametrize(
    ("agreed", "first", "end", "has_worked", "offset", "jump"),
    [
        (AgreedStart(30, OLD), 0, 40, False, 30, None),
        (AgreedStart(30, OLD), 35, 40, False, 35, Jump.DELETED),
        (AgreedStart(30, OLD), 0, 20, False, 0, Jump.WENT_BACK),
        (AgreedStart(30, NEW), 0, 40, False, 0, None),  # the topic was created again since
        (AgreedStart(30, OLD), 0, 40, True, 30, Jump.FORGOTTEN),  # the commits are gone: history stays unread
        (AgreedStart(30, OLD), 35, 40, True, 35, Jump.FORGOTTEN),
        (AgreedStart(30, OLD), 0, 20, True, 0, Jump.FORGOTTEN),
        (None, 0, 40, False, 0, None),
    ],
)
def test_what_was_agreed_and_what_is_there_decide(
    agreed: AgreedStart | None, first: int, end: int, has_worked: bool, offset: int, jump: Jump | None
) -> None:
    """
    Nothing before the agreed offset is read as long as the log is the same, and nothing after it is passed over.
    """
    start = start_from(None, None, topic_id=OLD, first=first, end=end, has_worked=has_worked, agreed=agreed)
    assert (start.offset, start.jump) == (offset, jump)
    assert start_from(12, LogId(OLD), topic_id=OLD, first=0, end=40, has_worked=has_worked, agreed=agreed).offset == 12


async def test_a_partition_without_records_is_not_forgotten(cluster: Cluster) -> None:
    """
    Where it begins is committed at once, so that a restart does not take it for one whose commits are gone.
    """
    await Scene(cluster, sealed_kinds=()).place()
    again = Scene(cluster)
    await again.place()
    assert (again.positions.placed, again.jumps()) == ({A, B}, {})
    cluster.commits.clear()
    forgotten = Scene(cluster)
    await forgotten.place()
    assert forgotten.jumps() == {"forgotten": 2.0}
