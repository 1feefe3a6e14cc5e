"""Figures: what was measured of one window, by name. Never published."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["Figures"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Measures of one kind of window; its fields are numbers, NaN where there is nothing to measure."""

    def as_dict(self) -> dict[str, float]:
        """Return the figures by name, in order."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}
