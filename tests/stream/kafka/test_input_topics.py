"""Input topics that exist, as a cluster's metadata shows them."""

from __future__ import annotations

from core.records.record import Kind
from stream.kafka.input_topics import inputs_of
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
