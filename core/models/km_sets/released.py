"""The message that releases one person: a set of generalized locations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.release.locations import GENERALIZED_LOCATION
from core.release.outcome import PSEUDONYM, Released

__all__ = ["LocationSet"]


@dataclass(
    slots=True, kw_only=True
)  # not frozen: a window makes tens of thousands, and frozen ones take twice the time
class LocationSet(Released):
    """One released person: the generalized locations visited, without order and repetition."""

    properties: ClassVar = {
        "pseudonym": PSEUDONYM,
        "locations": {
            "type": "array",
            "items": GENERALIZED_LOCATION,
            "minItems": 1,
            "description": "Generalized locations that the person visited, in no order. At least one member "
            "of each was visited.",
        },
    }

    is_ordered: ClassVar[bool] = False

    pseudonym: str
    locations: tuple[tuple[str, ...], ...]
    """Names of the members of each generalized location, sorted."""

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        return {"pseudonym": self.pseudonym, "locations": self.locations}
