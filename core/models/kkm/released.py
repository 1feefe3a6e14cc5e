"""A released person: attributes and a set of locations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from core.release.locations import GENERALIZED_LOCATION
from core.release.outcome import PSEUDONYM, Released

__all__ = ["AttributeRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRecord(Released):
    """One released person: generalized attributes, and the set of generalized locations visited."""

    properties: ClassVar = {
        "pseudonym": PSEUDONYM,
        "attributes": {
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    {"type": "string", "description": "Category of the hierarchy: the value is this one or below it."},
                    {
                        "type": "array",
                        "items": {"type": "number"},
                        "minItems": 2,
                        "maxItems": 2,
                        "description": "Smallest and largest value that the number may have.",
                    },
                ]
            },
            "description": "Generalized value of each field that `privacy.attributes` names.",
        },
        "locations": {
            "type": "array",
            "items": GENERALIZED_LOCATION,
            "description": "Generalized locations that the person visited, in no order.",
        },
        "sensitive": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": "Sensitive locations that the person visited; missing where there are none.",
        },
    }
    optional: ClassVar = frozenset({"sensitive"})
    is_ordered: ClassVar[bool] = False

    pseudonym: str
    attributes: Mapping[str, str | tuple[float, float]]
    """A node of a hierarchy, or the smallest and largest value that a number may have."""

    locations: tuple[tuple[str, ...], ...]
    """Names of the members of each generalized location, in no order of visit."""

    sensitive: tuple[str, ...]
    """Names of the sensitive locations visited."""

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        shown: dict[str, object] = {
            "pseudonym": self.pseudonym,
            "attributes": self.attributes,
            "locations": self.locations,
        }
        return shown | ({"sensitive": self.sensitive} if self.sensitive else {})
