"""The reference is that of the code: every setting, metric, message and model is in it, and the messages are real."""

from __future__ import annotations

import doctest
import importlib
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from prometheus_client import CollectorRegistry

from core.models.common.family import Family
from core.models.registry import FAMILIES, family_of, models_of
from core.records.record import INPUT_KINDS, Kind
from deploy.chart.settings import settings
from docs.extensions.messages import SCHEMAS, TOPICS, figures_markdown, message_markdown, parameters_markdown
from docs.extensions.metrics import labels_markdown, metrics_markdown
from docs.extensions.models import models_table, readme_of_the_repository
from docs.extensions.presets import presets_markdown
from docs.extensions.replays import dead_letter_example, records, replayed
from docs.extensions.settings import allowed, models_that_read, settings_markdown
from stream.formats.presets.registry import PRESETS
from stream.formats.schemas import dead_letter_schema, record_schema, released_schema, windows_schema
from stream.observe.metrics import LABELS, Metrics
from stream.settings.kinds import OverrideSettings, ReleaseOverrideSettings
from stream.settings.privacy import PrivacySettings
from tests.builders.inputs import decoder
from tests.builders.json_schemas import complaints
from tests.paths import ROOT

MODELS = [model for kind in INPUT_KINDS for model in models_of(kind)]
EXTENSIONS = sorted(path.stem for path in (ROOT / "docs" / "extensions").glob("*.py"))


# ---------------------------------------------------------------- messages


@pytest.mark.parametrize("model", MODELS)
def test_what_a_replay_writes_fits_the_schemas(model: str) -> None:
    """
    Every message that a replay writes under a model, of a released and of a withheld window, fits its schema.
    """
    messages = replayed(model)
    schema = released_schema(family_of(model).released)
    assert [window["outcome"] for window in messages.windows] == ["released", "withheld"]
    assert len(messages.anonymized) == messages.windows[0]["trajectories"] > 0
    assert [complaints(schema, message) for message in messages.anonymized if complaints(schema, message)] == []
    assert [complaints(windows_schema(), message) for message in messages.windows] == [[], []]


@pytest.mark.parametrize("kind", Kind)
def test_records_of_the_examples_fit_the_schemas(kind: Kind) -> None:
    """
    The records that the examples are made of fit the schema of their topic, and ingest reads them.
    """
    schema = record_schema(kind)
    decode = decoder(
        kind, {name: name for name in ("user", "ts", "lat", "lon", "venue", "category", "points", "k", "delta_m")}
    )
    for record in records(kind):
        assert complaints(schema, record) == []
        decode(json.dumps(record).encode())


def test_a_dead_letter_fits_its_schema() -> None:
    """
    A dead letter has all fields, and without the id of its topic it still fits.
    """
    letter = dead_letter_example()
    assert complaints(dead_letter_schema(), letter) == []
    assert letter.keys() == dead_letter_schema()["properties"].keys()
    del letter["log"]
    assert complaints(dead_letter_schema(), letter) == []


@pytest.mark.parametrize("model", ["seqanon", "rum-bound", "w4m"])
def test_a_schema_refuses_what_is_not_its_message(model: str) -> None:
    """
    A field more, a field less or a field of another type is a fault.
    """
    message, schema = replayed(model).anonymized[0], released_schema(family_of(model).released)
    assert complaints(schema, message | {"user": "u1"})
    assert complaints(schema, {name: value for name, value in message.items() if name != "pseudonym"})
    assert complaints(schema, message | {"window": "yesterday"})


def fields_of(schema: dict[str, Any], at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every field of a schema, those of objects inside it too."""
    for part in schema.get("oneOf", []):
        yield from fields_of(part, at)
    for name, field in schema.get("properties", {}).items():
        yield f"{at}.{name}", field
        if name != "versions":
            yield from fields_of(field.get("items", field), f"{at}.{name}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_has_a_meaning(name: str) -> None:
    """
    Each schema is valid JSON Schema, and each of its fields is described.
    """
    schema = SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(schema)
    fields = dict(fields_of(schema))
    assert fields
    assert [
        at for at, field in fields.items() if not field.get("description") and not at.startswith(".versions.")
    ] == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.models[0])
def test_every_figure_and_parameter_has_a_meaning(family: Family[Any, Any, Any, Any, Any]) -> None:
    """
    A family describes what its windows messages hold in `information_loss`, and nothing else; of `parameters` what is
    not the setting of the same name.
    """
    windows = [replayed(model).windows[0] for model in family.models]
    parameters = {name for window in windows for name in window["parameters"]}
    assert {name for window in windows for name in window["information_loss"]} == family.figures.keys()
    assert family.parameters.keys() <= parameters
    assert parameters - family.parameters.keys() <= PrivacySettings.model_fields.keys()


def test_every_name_is_in_the_tables_of_figures_and_parameters() -> None:
    """
    With the models that publish it; a name that means two things has two rows.
    """
    figures, parameters = figures_markdown(), parameters_markdown()
    assert all(f"| `{name}` | " in figures for family in FAMILIES for name in family.figures)
    assert "| `k` | all | `privacy.k`. |" in parameters
    assert parameters.count("| `l` | ") == parameters.count("| `clusters` | ") + 1 == 2


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_described_with_an_example(topic: str) -> None:
    """
    The text of a topic has a table of fields, an example that is JSON, and the schema.
    """
    text = message_markdown(topic)
    assert "| field | type | meaning |" in text
    assert "{dropdown} JSON Schema" in text
    for block in text.split("```json\n")[1:]:
        json.loads(block.split("\n```")[0])


# ---------------------------------------------------------------- settings, metrics, models


def test_every_setting_is_listed() -> None:
    """
    Each setting stands there once with its variable, and says what is allowed.
    """
    text = settings_markdown()
    for one in settings():
        assert text.count(f"\n`{one.dotted}`{{#") == 1
        assert f"`SHOAL_{one.section.upper()}__{one.name.upper()}`" in text
        assert allowed(one)


def test_defaults_are_those_of_the_program() -> None:
    """
    The chart has defaults of its own; the page shows them beside those of the program.
    """
    text = settings_markdown()
    assert "default `127.0.0.1` · default of the Helm chart `0.0.0.0`" in text
    assert "`SHOAL_PRIVACY__DELTA_M` · default `500` · allowed: a number above 1 and at most 1,000,000" in text
    assert "`SHOAL_PRIVACY__TRANSLATION` · default `exchangeable` · allowed: `exchangeable` or `minimal`" in text


def test_settings_name_the_models_that_read_them() -> None:
    """
    Every setting of a family is read by a model of it, and by those alone whose plan is made of it.
    """
    readers = models_that_read()
    for family in FAMILIES:
        for name in family.settings.model_fields:
            shared = {model for other in FAMILIES if name in other.settings.model_fields for model in other.models}
            assert set(readers[name]) <= shared, name
    assert readers["suppression_percent"] == ("u-seqanon", "coat", "pcta")
    assert readers["longest_pattern"] == ("lkc", "p2ka")
    assert readers["alike_by"] == ("rum-bound", "tum-bound")
    assert readers["clusters"] == ("zga", "sga")
    assert readers["epsilon_per_day"] == readers["max_flows_per_person"] == ("flows",)
    assert readers["distance"] == ("w4m", "pw4m", "pw4m-tr", "bounded-pw4m")
    assert readers["m"] == tuple(model for model in models_of(Kind.CHECKINS) if model != "flows")
    assert readers["delta_m"] == models_of(Kind.FRAGMENTS)


@pytest.mark.parametrize("name", ["constraints", "l", "horizon", "longest_pattern", "suppression_percent"])
def test_a_docstring_names_the_models_that_read_the_setting(name: str) -> None:
    """
    Where the docstring of a setting lists models of check-ins, none is missing, and none does not read it.
    """
    named = re.findall(r"``([\w-]+)``", PrivacySettings.model_fields[name].description or "")
    of_check_ins = models_of(Kind.CHECKINS)
    assert set(named) & set(of_check_ins) == set(models_that_read()[name]) & set(of_check_ins)


def test_every_section_that_a_feed_may_override_is_named() -> None:
    """
    The page begins with the sections before which the name of a feed may stand, and with those of stops.
    """
    first = settings_markdown().split("\n", 1)[0]
    of_feeds, of_stops = (set(re.findall(r"`(\w+)`", part)) for part in first.split("`stops.`"))
    assert of_feeds == set(OverrideSettings.model_fields)
    assert of_stops == set(ReleaseOverrideSettings.model_fields)


def test_every_metric_and_label_is_listed() -> None:
    """
    What is declared is documented.
    """
    metrics, labels = metrics_markdown(), labels_markdown()
    for one in Metrics(CollectorRegistry()).declared:
        assert f"| `{one.name}` | {one.type} |" in metrics
    for label, values in LABELS.items():
        assert f"| `{label}` |" in labels
        assert all(f"`{value}`" in labels for value in values)


def test_every_model_is_in_the_table_once() -> None:
    """
    With what it promises and needs, and a page that is there; one kind of feed has its own models alone.
    """
    for family in FAMILIES:
        for one in family.summaries.values():
            folder = family.plan.__module__.split(".")[2]
            assert (ROOT / readme_of_the_repository(folder, one.page)).is_file()
    table = models_table()
    assert all(table.count(f"| `{model}`") == 1 for model in MODELS)
    assert "`seqanon` (default)" in table
    assert "w4m" not in models_table(Kind.CHECKINS)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_examples_of_the_generators_hold(name: str) -> None:
    """
    What a docstring shows is what the function returns.
    """
    assert doctest.testmod(importlib.import_module(f"docs.extensions.{name}")).failed == 0


def test_every_preset_is_in_the_reference() -> None:
    """
    Every preset has a row in the table, and below it all of its settings and an example.
    """
    text = presets_markdown()
    for name, preset in PRESETS.items():
        assert f"| `{name}` | {preset.title} |" in text
        details = text.partition(f"{{dropdown}} {name}\n")[2].partition("\n````")[0]
        for sections in (preset.settings, *preset.of_kind.values()):
            assert [key for values in sections.values() for key in values if f"  {key}:" not in details] == []
        assert details.count("It reads") == len(preset.examples)
