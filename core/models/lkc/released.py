"""A released person: visits with their slots of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.records.instants import rfc3339
from core.release.outcome import PSEUDONYM, Released

__all__ = ["PairTrajectory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTrajectory(Released):
    """One released sequence of visits with their slots of time, and what is stated of its person's sensitive
    values."""

    properties: ClassVar = {
        "pseudonym": PSEUDONYM,
        "visits": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [
                    {
                        "type": "string",
                        "description": "When the slot begins, UTC: an instant, or a time of day where "
                        "`privacy.slots_of` is `day`.",
                    },
                    {"type": "string", "description": "Name of the location."},
                ],
                "minItems": 2,
                "maxItems": 2,
            },
            "minItems": 1,
            "description": "Slot and location of each visit, in the order of the slots.",
        },
        "sensitive": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Sensitive values of the person; only with a `privacy.horizon` of 1.",
        },
        "one_of": {
            "type": "array",
            "items": {"type": ["string", "null"]},
            "description": "With a `privacy.horizon` above 1: one of these is true of the person, each as likely; null "
            "means that the person has no sensitive value. Empty if the person has none.",
        },
    }
    optional: ClassVar = frozenset({"sensitive", "one_of"})

    pseudonym: str
    visits: tuple[tuple[int, str], ...]
    """When the slot begins and the name of the location, in that order: Unix milliseconds, or milliseconds after
    midnight where slots are times of day."""

    sensitive: tuple[str, ...] = ()
    """The person's sensitive values, if ``one_of`` is None."""

    one_of: tuple[str | None, ...] | None = None
    """The person's signature: names of values, None for no sensitive value. None if the promise does not span
    windows."""

    of_day: bool = False
    """Whether slots are times of day."""

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        visits = [(self._slot(begin_ms), name) for begin_ms, name in self.visits]
        stated = {"sensitive": self.sensitive} if self.one_of is None else {"one_of": self.one_of}
        return {"pseudonym": self.pseudonym, "visits": visits, **stated}

    def _slot(self, begin_ms: int) -> str:
        """Write when a slot begins: an instant, or a time of day."""
        return rfc3339(begin_ms)[11:-1] if self.of_day else rfc3339(begin_ms)
