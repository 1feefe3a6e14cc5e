"""The page about release encodings is that of the code: examples, schemas and columns."""

from __future__ import annotations

import json
from typing import Any

import fastavro
import jsonschema
import pytest

from core.models.registry import FAMILIES
from docs.extensions.encodings import ENCODING_SCHEMAS, EXAMPLES, encoding_markdown, tables_markdown
from docs.extensions.messages import SCHEMAS
from stream.formats.release.avro_schemas import AVRO_SCHEMAS
from tests.paths import ROOT


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_encoding_is_shown_with_examples_that_fit_a_schema(name: str) -> None:
    """
    Every block is JSON; every example of messages fits one of the schemas that the page links.
    """
    text = encoding_markdown(name)
    blocks = [json.loads(block.split("\n```")[0]) for block in text.split("```json\n")[1:]]
    assert blocks
    if name == "avro":
        assert blocks == list(AVRO_SCHEMAS.values())
        assert all(f"schemas/{topic}.avsc" in text for topic in AVRO_SCHEMAS)
        return
    linked = [schema() for file, schema in ENCODING_SCHEMAS.items() if f"schemas/{file}.json" in text]
    for block in blocks:
        assert any(jsonschema.Draft202012Validator(schema).is_valid(block) for schema in linked)


def described(schema: dict[str, Any], at: str = "") -> list[str]:
    """The fields of a schema that have no meaning."""
    missing = []
    for part in schema.get("oneOf", []):
        missing += described(part, at)
    for name, field in schema.get("properties", {}).items():
        if not field.get("description") and "versions" not in at:
            missing.append(f"{at}.{name}")
        missing += described(field.get("items", field), f"{at}.{name}")
    return missing


@pytest.mark.parametrize("name", ENCODING_SCHEMAS)
def test_every_field_has_a_meaning(name: str) -> None:
    """
    In the published JSON Schemas, which are valid.
    """
    schema = ENCODING_SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert described(schema) == []


def test_published_schemas_have_names_of_their_own_and_are_valid() -> None:
    """
    None overwrites another in the folder of the site; what is published as Avro can be parsed.
    """
    assert not SCHEMAS.keys() & ENCODING_SCHEMAS.keys()
    for schema in AVRO_SCHEMAS.values():
        fastavro.parse_schema(schema)


def test_the_table_of_columns_has_every_model() -> None:
    """
    Once for the table of trajectories; no figure of one family alone is shown as a column of all.
    """
    text = tables_markdown()
    trajectories = [line.split(" | ")[1] for line in text.splitlines() if line.startswith("| `anonymized`")]
    for family in FAMILIES:
        for model in family.models:
            assert sum(f"`{model}`" in line for line in trajectories) == 1
    assert "`loss_NAME`" in text
    assert "`loss_distance_m`" not in text


def test_the_page_shows_all_of_it() -> None:
    """
    Each encoding has its directive on the page.
    """
    page = (ROOT / "docs" / "reference" / "release-encodings.md").read_text(encoding="utf-8")
    assert all(f"{{shoal-encoding}} {name}\n" in page for name in EXAMPLES)
    assert "{shoal-tables}" in page
