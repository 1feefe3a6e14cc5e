"""What somebody should know who uses settings that are valid."""

from __future__ import annotations

from collections.abc import Iterator

from core.records.record import Kind
from stream.settings.model import Settings

__all__ = ["advice"]


def advice(settings: Settings) -> Iterator[str]:
    """Yield a sentence for everything that the settings allow and that promises less than one may think."""
    kinds = settings.kinds
    if len(kinds) > 1:
        yield (
            "check-ins and fragments are anonymized apart: of somebody who is in both, an adversary who knows a little "
            "from each may find fewer than k people who fit both; publish only one of them to the same readers, or "
            "feed them with different people"
        )
    for kind in kinds:
        own = settings.for_kind(kind)
        name = "check-ins" if kind is Kind.CHECKINS else "fragments"
        if own.shard.kind == "region":
            yield (
                f"{name}: somebody who crosses the border of a region is released in both as two people, and what the "
                "two releases show together is not bounded"
            )
