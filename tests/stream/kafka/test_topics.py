"""Checks of the topics before a worker starts, on a cluster that is described here."""

from __future__ import annotations

import pytest

from stream.kafka.topics import ClusterError, Described, DescribedTopic, check_topics
from stream.settings.load import load_settings


async def test_shards_and_seals_of_different_sizes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The sentence says why they need as many partitions, and what to do before a worker ever ran, and after.
    """
    partitions = {"shoal-shards": 4, "shoal-seals": 8}

    async def describe(*_: object) -> Described:
        topics = {name: DescribedTopic(partitions=n, config={}) for name, n in partitions.items()}
        return Described(topics=topics, matching={}, in_two_feeds=[])

    monkeypatch.setattr("stream.kafka.topics.describe_topics", describe)
    with pytest.raises(ClusterError) as fault:
        await check_topics(load_settings())
    assert str(fault.value) == (
        "topic shoal-shards has 4 partitions and shoal-seals has 8: both need the same number, because a seal is in "
        "the partition of its window; if no worker ever ran on them, delete both and run `shoal topics create`; "
        "otherwise set new names for topics.shards and topics.seals, run it as well, and set time.earliest to the end "
        "of the last released window"
    )
