"""Input topics: which topic belongs to which feed, by names and by patterns."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.records.record import INPUT_KINDS, Kind
from stream.settings.errors import SettingsError
from stream.settings.input_topics import FeedTopics, InputTopics
from stream.settings.load import load_settings
from tests.budgets import examples


def topics(**given: object) -> FeedTopics:
    return FeedTopics(load_settings(given={f"topics.{name}": value for name, value in given.items()}).topics)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("gps.a", "gps.a"),
        ("gps.a,gps.b", "gps.a,gps.b"),
        ("gps.a, gps.b ", "gps.a,gps.b"),
        (["gps.a", "gps.b"], "gps.a,gps.b"),
        (["gps.a"], "gps.a"),
        ([], ""),
        (None, ""),
        ("", ""),
        (r"^gps\..{1,3}", r"^gps\..{1,3}"),
        ([r"^gps\..{1,3}"], r"^gps\..{1,3}"),
        ("^(a|b|c.*)$", "^(a|b|c.*)$"),
    ],
)
def test_names_and_patterns_as_people_write_them(written: object, read: str) -> None:
    """
    A list means the same as a text with commas, and what `shoal check-config` prints is read as the same again.
    """
    loaded = load_settings(given={"topics.checkins": written})
    assert loaded.topics.checkins == read
    printed = yaml.safe_load(yaml.safe_dump(loaded.masked()))["topics"]["checkins"]
    assert load_settings(given={"topics.checkins": printed}).topics == loaded.topics


HINT = "several names are separated by commas, and a pattern begins with '^'"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"checkins": "gps.*"}, HINT),
        ({"checkins": "gps.a,gps.*"}, HINT),
        ({"checkins": "gps.a,"}, HINT),
        ({"checkins": " "}, "it must be 1 to 249 of the characters"),
        ({"checkins": "gps.a,__consumer_offsets"}, "this topic is the brokers' own"),
        ({"checkins": ["gps.a", ""]}, "it must be a list of names, none of them empty"),
        ({"checkins": ["gps.a", 7]}, "it must be a list of names, none of them empty"),
        ({"checkins": ["gps.a", "^a{1,2}"]}, "a pattern stands alone"),
        ({"checkins": "gps.a,^b.*"}, "it must be names or one pattern"),
        ({"checkins": "^"}, "it must have the pattern of the names behind '^'"),
        ({"checkins": "^gps("}, "it must be a regular expression (missing ), unterminated subpattern"),
        ({"checkins": r"^(a)\1"}, "without named groups and references to groups"),
        ({"checkins": "^(?P<a>b)"}, "without named groups and references to groups"),
        ({"checkins": "gps.a,gps.a"}, "topics.checkins has 'gps.a' twice: name every topic once"),
        ({"checkins": "gps.a,gps_a"}, "names differ only in '.' and '_'"),
        ({"checkins": "a,b", "fragments": "c,b"}, "topics.checkins and topics.fragments are both 'b'"),
        ({"checkins": "a,shoal-seals"}, "topics.checkins and topics.seals are both 'shoal-seals'"),
        ({"checkins": "^g.*", "fragments": "^g.*"}, "both '^g.*': a topic belongs to one feed"),
        ({"checkins": "^frag.*"}, "topics.checkins is '^frag.*', which also matches 'fragments' of topics.fragments"),
        ({"fragments": "^c.*", "checkins": "a,cb"}, "topics.fragments is '^c.*', which also matches 'cb'"),
    ],
    ids=str,
)
def test_what_is_refused(given: dict[str, Any], says: str) -> None:
    """
    Before a broker is asked, with a sentence of what is allowed.
    """
    with pytest.raises(SettingsError, match=re.escape(says)):
        topics(**given)


def test_whole_names_match_and_own_topics_never() -> None:
    """
    Neither Shoal's own topics nor the brokers' belong to a feed, however wide the pattern is.
    """
    feeds = topics(checkins="^.*", fragments="", shards="sh", seals="se")
    assert feeds.kind_of("anything") is Kind.CHECKINS
    for own in ("sh", "se", "anonymized", "windows", "shoal-dead-letters", "__consumer_offsets", "__ours"):
        assert feeds.kind_of(own) is None
    assert feeds.kind_of("she") is Kind.CHECKINS
    narrow = topics(checkins="^gps|trucks", fragments="")
    assert [narrow.kind_of(name) for name in ("gps", "trucks", "gps2", "my-trucks", "trucks\n")] == [
        Kind.CHECKINS,
        Kind.CHECKINS,
        None,
        None,
        None,
    ]


def test_a_topic_of_two_patterns_belongs_to_neither() -> None:
    """
    It would be a guess what its records are.
    """
    feeds = topics(checkins="^(a|both)", fragments="^b.*")
    existing = ["both", "b1", "a", "other"]
    assert feeds.of(existing) == {Kind.CHECKINS: ["a"], Kind.FRAGMENTS: ["b1"]}
    assert feeds.in_two_feeds(existing) == ["both"]


PARTS = ("a", "b", r"\.", "-", ".", "a*", "b?", "(a|b)", "[ab]", "a{2}", "(?:-a)+", "|")
patterns = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map(lambda parts: "^" + "".join(parts))
names = st.text("ab.-", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))


@settings(max_examples=examples(1000))
@given(checkins=st.one_of(patterns, names), fragments=st.one_of(patterns, names), existing=st.sets(names, min_size=1))
def test_the_group_subscribes_to_what_the_feeds_read(checkins: str, fragments: str, existing: set[str]) -> None:
    """
    The one pattern of the consumer matches exactly the topics that belong to one feed, as each setting on its own says.
    """

    def fits(setting: str, name: str) -> bool:
        return re.fullmatch(setting, name) is not None if setting.startswith("^") else name == setting

    try:
        feeds = topics(checkins=checkins, fragments=fragments)
    except SettingsError:
        assume(False)
    owners = {
        name: {kind for kind, one in zip(INPUT_KINDS, (checkins, fragments), strict=True) if fits(one, name)}
        for name in existing
    }
    subscribed = feeds.subscription()
    if "pattern" in subscribed:
        assert {name for name in existing if re.compile(subscribed["pattern"]).match(name)} == {
            name for name, kinds in owners.items() if len(kinds) == 1
        }
    else:
        assert subscribed == {"topics": [checkins, fragments]}
    assert {name: {feeds.kind_of(name)} for name in existing if len(owners[name]) == 1} == {
        name: kinds for name, kinds in owners.items() if len(kinds) == 1
    }
    assert feeds.in_two_feeds(existing) == sorted(name for name, kinds in owners.items() if len(kinds) == 2)


@settings(max_examples=examples(1000))
@given(pattern=patterns, existing=st.sets(names, min_size=1))
def test_every_match_begins_with_the_literal_prefix(pattern: str, existing: set[str]) -> None:
    """
    An ACL for the prefix allows every topic that the pattern matches.
    """
    prefix = InputTopics(pattern=pattern).literal_prefix
    assert all(name.startswith(prefix) for name in existing if re.fullmatch(pattern, name))


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        (r"^gps\..*", "gps."),
        (r"^gps\.(a|b)", "gps."),
        ("^gps.a", "gps"),
        ("^gps-[ab]|x", ""),
        ("^gps-[a|b]", "gps-"),
        ("^gpss?", "gps"),
        ("^gps+", "gps"),
        (r"^\d", ""),
        ("^.*", ""),
    ],
)
def test_the_prefix_is_as_long_as_the_pattern_allows(pattern: str, prefix: str) -> None:
    """
    A shorter one would allow more topics than are read.
    """
    assert InputTopics(pattern=pattern).literal_prefix == prefix
