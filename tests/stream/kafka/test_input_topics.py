"""Input topics that exist, as a cluster's metadata shows them."""

from __future__ import annotations

import pytest

from core.records.record import Kind
from stream.kafka.input_topics import find_inputs, inputs_of
from stream.settings.input_topics import FeedTopics
from stream.settings.kafka import TopicSettings


class Metadata:
    """Stands in for aiokafka's metadata."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._topics = topics

    def topics(self) -> set[str]:
        return set(self._topics)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(self._topics[topic]))


class Client:
    """Stands in for aiokafka's client at a broker that learns of topics one after the other."""

    def __init__(self, *answers: dict[str, int]) -> None:
        self._answers = list(answers)

    async def fetch_all_metadata(self) -> Metadata:
        return Metadata(self._answers.pop(0))


async def test_topics_with_names_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A broker that does not know a topic yet must not make it look like one that appears later; what a pattern may match
    is not waited for.
    """
    monkeypatch.setattr("stream.kafka.input_topics._LOOK_AGAIN_S", 0.0)
    feeds = FeedTopics(TopicSettings(checkins="a,b", fragments="^c.*"))
    found = await find_inputs(Client({"a": 1}, {"a": 1, "b": 2}), feeds)
    assert found.topics == {Kind.CHECKINS: {"a": 1, "b": 2}, Kind.FRAGMENTS: {}}


def test_each_feed_has_its_topics_with_their_partitions() -> None:
    """
    A name that does not exist is missing, and a topic of two feeds is in neither.
    """
    feeds = FeedTopics(TopicSettings(checkins="^(a|both).*", fragments="^b.*"))
    found = inputs_of(Metadata({"a1": 2, "a2": 3, "b1": 1, "both": 4, "windows": 1}), feeds)
    assert found.topics == {Kind.CHECKINS: {"a1": 2, "a2": 3}, Kind.FRAGMENTS: {"b1": 1}}
    assert found.in_two_feeds == ["both"]
    assert found.partitions == {"a1": 2, "a2": 3, "b1": 1}
    named = FeedTopics(TopicSettings(checkins="a1,gone", fragments=""))
    assert inputs_of(Metadata({"a1": 2}), named).topics == {Kind.CHECKINS: {"a1": 2}}
