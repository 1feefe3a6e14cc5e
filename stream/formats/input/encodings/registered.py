"""Schemas as a schema registry hands them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["RegisteredSchema", "SchemaKind"]

SchemaKind = Literal["AVRO", "JSON", "PROTOBUF"]


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema, and the schemas that it refers to."""

    kind: SchemaKind
    text: str

    references: tuple[tuple[str, str], ...] = ()
    """Name and text of each schema that this one refers to, itself or through others. A schema comes after those that
    it refers to; the name is that of a ``.proto`` file, or of a type in Avro."""
