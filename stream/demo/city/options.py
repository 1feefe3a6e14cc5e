"""The options of a simulated city: frozen, validated."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["CityOptions"]

MONDAY_MS = 1_795_392_000_000
"""2026-11-23T00:00:00Z, a Monday."""

_WHOLE = {
    "seed": (0, 2**63 - 1),
    "people": (1, 200_000),
    "venues": (10, 5_000),
    "start_ms": (0, 4_102_444_800_000),
}
_REAL = {
    "centre_lat": (-80.0, 80.0),
    "centre_lon": (-180.0, 180.0),
    "radius_m": (1_000.0, 20_000.0),
    "checkins_per_person_day": (0.0, 50.0),
    "dirty_share": (0.0, 1.0),
    "duplicate_share": (0.0, 0.5),
    "out_of_order_share": (0.0, 1.0),
    "max_delay_s": (0.0, 86_400.0),
    "own_demands_share": (0.0, 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CityOptions:
    """The options of a simulated city's feed: the same options give the same bytes.

    Raises:
        ValueError: An option is outside its range, or options contradict each other; the message names the option, its
            value and what is allowed.
    """

    seed: int = 1
    """Seed of all random numbers. At least 0."""

    people: int = 400
    """Number of people in the city, 1 to 200,000."""

    venues: int = 150
    """Number of venues, 10 to 5,000."""

    centre_lat: float = 48.2
    """Latitude of the centre, degrees, -80 to 80."""

    centre_lon: float = 16.37
    """Longitude of the centre, degrees, -180 to 180."""

    radius_m: float = 4_000.0
    """No clean position is farther from the centre than this, metres, 1,000 to 20,000."""

    start_ms: int = MONDAY_MS
    """No clean record is older than this, milliseconds since the epoch. The city lives by UTC."""

    checkins_per_person_day: float = 3.0
    """Mean number of check-ins of one person on one day, 0 to 50."""

    dirty_share: float = 0.01
    """Share of all messages that are spoiled, 0 to 1."""

    duplicate_share: float = 0.01
    """Share of all messages that repeat the bytes of another, 0 to 0.5; each message has at most one copy."""

    out_of_order_share: float = 0.02
    """Share of all messages that are delayed, so that later ones may arrive before them, 0 to 1."""

    max_delay_s: float = 60.0
    """Longest time between a message's newest point and its first arrival, seconds. At least 2, or 0 if no message
    arrives out of order. The usual latency of up to 1.5 s always applies."""

    own_demands_share: float = 0.0
    """Share of users whose fragments carry their own ``k`` and ``delta_m``, 0 to 1."""

    def __post_init__(self) -> None:
        for name, (low, high) in _WHOLE.items():
            found = getattr(self, name)
            if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
                raise ValueError(f"{name} is {found!r}: use a whole number from {low} to {high}")
        for name, (least, most) in _REAL.items():
            found = getattr(self, name)
            if not isinstance(found, int | float) or not math.isfinite(found) or not least <= found <= most:
                raise ValueError(f"{name} is {found!r}: use a number from {least:g} to {most:g}")
        # Each copy needs a clean message as its original, so duplicates count twice.
        shares = self.dirty_share + self.out_of_order_share + 2 * self.duplicate_share
        # The tolerance allows for rounding: 0.7 + 0.1 + 2 * 0.1 may exceed 1.
        if shares > 1.0 + 1e-9:
            raise ValueError(
                f"dirty_share + out_of_order_share + 2 * duplicate_share is {shares:g}: use at most 1, "
                "since each duplicate needs a clean message to copy"
            )
        if self.out_of_order_share > 0.0 and self.max_delay_s < 2.0:
            raise ValueError(
                f"max_delay_s is {self.max_delay_s:g} and out_of_order_share {self.out_of_order_share:g}: "
                "use a delay of at least 2 s, or a share of 0"
            )
