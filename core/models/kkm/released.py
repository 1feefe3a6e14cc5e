"""What leaves of a person: attributes and a set of locations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.release.outcome import Released

__all__ = ["AttributeRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeRecord(Released):
    """One released person: generalized attributes, and the set of generalized locations visited."""

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
