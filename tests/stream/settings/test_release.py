"""``release.encoding``: what has no meaning is refused with what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from core.records.record import Kind
from stream.feeds.feed import Feed
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings

SECRET = "a secret of the tests, long enough"  # noqa: S105 - of no worth anywhere
REGISTRY = {"registry.url": "http://127.0.0.1:8081"}


def refused(given: dict[str, Any]) -> str:
    """The sentence that refuses some settings of a worker."""
    with pytest.raises(SettingsError) as fault:
        load_settings(given={"privacy.secret": SECRET} | given).checked()
    return str(fault.value)


def test_an_encoding_that_does_not_exist_is_refused_with_those_that_do() -> None:
    """
    The sentence names the setting, the value and what is allowed.
    """
    said = refused({"release.encoding": "xml"})
    assert "release.encoding is 'xml'" in said
    assert all(name in said for name in ("json", "avro", "geojson", "mf-json"))


def test_moving_points_are_refused_where_nothing_moves() -> None:
    """
    Releases of check-ins have no times of positions; for fragments alone it can be set.
    """
    said = refused({"release.encoding": "mf-json"})
    assert "release.encoding is mf-json" in said
    assert "seqanon" in said
    assert "use json, avro or geojson, or the model w4m" in said
    assert "fragments.release.encoding" in said
    load_settings(given={"privacy.secret": SECRET, "fragments.release.encoding": "mf-json"}).checked()
    only = {"privacy.secret": SECRET, "release.encoding": "mf-json", "topics.checkins": ""}
    load_settings(given=only).checked()


def test_avro_needs_a_registry() -> None:
    """
    Its readers learn the schema there.
    """
    said = refused({"release.encoding": "avro"})
    assert said.startswith("release.encoding is avro and registry.url is not set")
    load_settings(given={"privacy.secret": SECRET, "release.encoding": "avro"} | REGISTRY).checked()


def test_avro_shares_its_topics_with_nothing_else() -> None:
    """
    A reader of Avro stops at a message that is not; JSON and GeoJSON can stand side by side.
    """
    said = refused({"fragments.release.encoding": "avro"} | REGISTRY)
    assert "checkins.release.encoding json and fragments.release.encoding avro" in said
    one_feed = {"privacy.secret": SECRET, "fragments.release.encoding": "avro", "topics.checkins": ""}
    load_settings(given=one_feed | REGISTRY).checked()
    load_settings(given={"privacy.secret": SECRET, "fragments.release.encoding": "geojson"}).checked()


def test_a_window_sealed_under_another_encoding_has_another_digest() -> None:
    """
    It would be emitted again with other bytes, so it is withheld; JSON has the digest that it had before there were
    other encodings.
    """

    def digest(encoding: str | None, *, kind: Kind = Kind.FRAGMENTS) -> str:
        given = {} if encoding is None else {"release.encoding": encoding}
        return Feed(load_settings(given=given), kind, secret=SECRET).plan.digest

    digests = [digest(encoding) for encoding in ("json", "avro", "geojson", "mf-json")]
    assert len(set(digests)) == 4
    assert digest(None) == digests[0]
