"""Attributes of people: ranges and hierarchies of the settings, a sentence for each wrong one, what they decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.records.profile import Categorical, Numeric, Profile
from core.records.record import Kind, Reason, Rejected, Rows, Source
from stream.feeds.feed import Feed
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from tests.builders.inputs import decoder

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
TREE = "category,parent\npaid,\nplus, paid\n basic,\ngold,paid\n"
SENSITIVE: dict[str, Any] = {"privacy.sensitive_field": "ward", "privacy.sensitive_values": "surgery,oncology"}


def feed(kind: Kind = Kind.CHECKINS, **given: object) -> Feed:
    """Wire one kind of feed."""
    settings = load_settings(given={name.replace("__", "."): value for name, value in given.items()})
    return Feed(settings, kind, secret=SECRET)


def complaint(**given: Any) -> str:
    """Return the sentence that the start ends with."""
    with pytest.raises(SettingsError) as fault:
        feed(**given)
    return str(fault.value)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "plans.csv"
    path.write_text(TREE)
    return path


def test_a_profile_has_attributes_by_name_and_what_is_sensitive_last(tree: Path) -> None:
    """
    Whatever order the settings have; every category of a hierarchy is a value, inner ones as well.
    """
    ordered: dict[str, Any] = {"privacy__attributes": {"plan": str(tree), "age": " 18 .. 99 "}}
    found = feed(**ordered, **SENSITIVE)
    assert found.profile == Profile(
        (
            Numeric("age", 18, 99),
            Categorical("plan", ("basic", "gold", "paid", "plus")),
            Categorical("ward", ("surgery", "oncology"), others=True),
        )
    )
    assert found.attributes == ("age", "plan", "ward")
    assert {name: tree.path("gold") for name, tree in found.hierarchies.items()} == {"plan": ("paid", "gold")}
    turned = feed(privacy__attributes={"age": "18..99", "plan": str(tree)}, **SENSITIVE)
    assert (turned.vocabulary, turned.plan.digest) == (found.vocabulary, found.plan.digest)


def test_without_attributes_nothing_changes(tree: Path) -> None:
    """
    There is no profile, and fragments have none whatever the settings say for all.
    """
    assert (feed().profile, feed().attributes, feed().hierarchies) == (None, (), {})
    given: dict[str, Any] = {"privacy__attributes": {"age": "0..9", "plan": str(tree)}} | SENSITIVE
    told = feed(Kind.FRAGMENTS, **given)
    assert (told.profile, told.attributes, told.hierarchies) == (None, (), {})
    assert told.vocabulary == feed(Kind.FRAGMENTS).vocabulary
    assert told.plan.digest == feed(Kind.FRAGMENTS).plan.digest
    feed(Kind.FRAGMENTS, privacy__attributes={"plan": str(tree.with_name("nowhere.csv"))})


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("9..0", "privacy.attributes.age is 9..0: age is from 9 to 0: it must be a range of whole numbers"),
        ("-5..5", "begins at 0"),
        ("0..99999999999999999", "at most"),
        ("0..4294967295", "privacy.attributes: the attributes have 4294967297 combinations of values"),
        ("0-120", "privacy.attributes.age is '0-120': it must be LOW..HIGH, whole numbers, or a CSV"),
        ("1.5..2", "is '1.5..2': it must be LOW..HIGH"),
    ],
)
def test_a_range_that_is_none_is_named_with_what_is_allowed(value: str, says: str) -> None:
    """
    What is no range is taken for the name of a file.
    """
    assert says in complaint(privacy__attributes={"age": value})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"name,parent\na,\n", "once; category occurs 0 times"),
        (b"category,parent\n", "needs at least one value"),
        (b"category,parent\na,b\n", "category 'b' is a parent but has no row of its own"),
        (b"category,parent\na,b\nb,a\n", "is its own ancestor"),
        (b"category,parent\n,a\n", "a category has no name"),
        (b"category,parent\n\xff,\n", " is not UTF-8 (line 2): save it as UTF-8"),
    ],
)
def test_a_hierarchy_that_is_none_is_named_with_what_is_wrong(content: bytes, says: str, tree: Path) -> None:
    """
    The sentence names the setting with the attribute, the file, and the fault.
    """
    tree.write_bytes(content)
    sentence = complaint(privacy__attributes={"plan": str(tree)})
    assert sentence.startswith("privacy.attributes.plan ")
    assert str(tree) in sentence
    assert says in sentence


def test_another_profile_is_another_vocabulary(tree: Path) -> None:
    """
    Codes of two profiles must not be mixed: chunks of another are turned away, sealed windows withheld.
    """
    variants: list[dict[str, Any]] = [
        {},
        {"privacy__attributes": {"age": "0..9"}},
        {"privacy__attributes": {"age": "0..8"}},
        {"privacy__attributes": {"years": "0..9"}},
        {"privacy__attributes": {"plan": str(tree)}},
        SENSITIVE,
        SENSITIVE | {"privacy.sensitive_values": "oncology,surgery"},
        SENSITIVE | {"privacy.sensitive_field": "clinic"},
    ]
    feeds = [feed(**given) for given in variants]
    assert len({one.vocabulary for one in feeds}) == len(variants)
    assert len({one.plan.digest for one in feeds}) == len(variants)


def test_what_a_hierarchy_says_is_part_of_a_release_and_its_name_is_not(tree: Path) -> None:
    """
    Parents decide how values are generalized, so a changed file is another digest, while the codes stay the same.
    """
    before = feed(privacy__attributes={"plan": str(tree)})
    moved = tree.with_name("moved.csv")
    moved.write_text(TREE)
    assert feed(privacy__attributes={"plan": str(moved)}).plan.digest == before.plan.digest
    moved.write_text(TREE.replace("gold,paid", "gold,"))
    after = feed(privacy__attributes={"plan": str(moved)})
    assert after.vocabulary == before.vocabulary
    assert after.plan.digest != before.plan.digest


def test_a_message_becomes_a_row_with_its_code(tree: Path) -> None:
    """
    Decoder and intake of one feed fit: each message has its own code, or a reason.
    """
    found = feed(privacy__attributes={"plan": str(tree), "age": "18..99"}, **SENSITIVE)
    names = load_settings().fields.model_dump()
    decode = decoder(Kind.CHECKINS, names, found.attributes)
    tails = ['"age":41,"plan":"gold","ward":"oncology"', '"plan":"gold"', '"age":18,"plan":"basic","ward":"dentist"']
    texts = [f'{{"user":"u","ts":1600000000,"lat":52.5,"lon":13.4,{tail}}}' for tail in tails]
    records = [(i, decode(text.encode())) for i, text in enumerate(texts)]
    chunks, rejected, _ = found.intake.run(records, source=Source("checkins", 0), n_partitions=1, now_ms=2**41)
    rows: Rows = chunks[0].rows
    reason: Rejected = rejected[0]
    assert found.profile is not None
    assert [c.tolist() for c in found.profile.decode(rows["profile"])] == [[41, 18], [1, 0], [1, -1]]
    assert (reason.offset, reason.reason) == (1, Reason.ATTRIBUTE_MISSING)
