"""JSON Schemas: what is wrong with a message."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema

__all__ = ["complaints"]


@cache
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a schema, which is checked once: that takes longer than to check a message."""
    parsed = json.loads(schema)
    jsonschema.Draft202012Validator.check_schema(parsed)
    return jsonschema.Draft202012Validator(parsed, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def complaints(schema: dict[str, Any], message: object) -> list[str]:
    """Return what is wrong with a message; nothing if it fits the schema."""
    return [fault.message for fault in _validator(json.dumps(schema)).iter_errors(message)]
