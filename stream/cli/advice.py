"""What somebody should know who uses settings that are valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core.models.common.plan import Plan
from core.models.common.settings import HorizonSettings
from core.models.registry import family_of, models_of
from core.records.record import Kind
from stream.settings.kinds import KindSettings
from stream.settings.model import Settings

__all__ = ["advice"]

_NAMES = {Kind.CHECKINS: "check-ins", Kind.FRAGMENTS: "fragments", Kind.STOPS: "stops"}


def advice(settings: Settings, plans: Mapping[Kind, Plan]) -> Iterator[str]:
    """Yield a sentence for everything that the settings allow and that promises, or keeps, less than one may think.

    Args:
        settings: All settings.
        plans: What they are for the records of each kind.
    """
    kinds = settings.kinds
    if Kind.CHECKINS in kinds and len(kinds) > 1:
        yield (
            "check-ins and fragments are anonymized apart: of somebody who is in both, an adversary who knows a little "
            "from each may find fewer than k people who fit both; publish only one of them to the same readers, or "
            "feed them with different people"
        )
    if Kind.FRAGMENTS in kinds and Kind.STOPS in kinds:
        yield (
            "stops.of_fragments is beside: trajectories and stops of the same people are anonymized apart, and an "
            "adversary who knows a little from each may find fewer than k people who fit both; publish only one of "
            "them to the same readers"
        )
    if Kind.FRAGMENTS in kinds and len(kinds) > 1 and settings.privacy.horizon is not None:
        others = [kind for kind in kinds if kind is not Kind.FRAGMENTS]
        yield (
            f"privacy.horizon is {settings.privacy.horizon} for {' and '.join(_NAMES[kind] for kind in others)} and "
            f"for fragments, which promise different things over it: set "
            f"{', '.join(f'{kind}.privacy.horizon' for kind in others)} and fragments.privacy.horizon"
        )
    for kind in kinds:
        own = settings.for_kind(kind)
        name = _NAMES[kind]
        is_alone = kind.model_kind is Kind.CHECKINS and plans[kind].model not in _with_horizon()
        if is_alone and own.privacy.horizon is not None:
            yield (
                f"{name}: privacy.horizon changes nothing, because only {', '.join(_with_horizon())} promise anything "
                "over several windows"
            )
        elif plans[kind].horizon == 1 and not _adds_up(own):
            yield f"{name}: {_stands_alone(kind, plans[kind].model)}"
        if kind is Kind.STOPS and own.privacy.model == "lkc" and settings.privacy.sensitive_field is not None:
            yield (
                "stops: privacy.sensitive_field changes nothing, because fragments have no such field: what lkc "
                "promises of sensitive values holds for check-ins alone"
            )
        if kind is Kind.FRAGMENTS and own.privacy.across == "mixing":
            yield (
                "fragments: privacy.across is mixing; where few people are near one another and stay together, their "
                "sets cannot be mixed, and they are left out of every second window: watch the suppressed share; "
                "docs/concepts/several-windows.md has the other choices"
            )
        if own.shard.kind == "region":
            yield (
                f"{name}: somebody who crosses the border of a region is released in both as two people, and what the "
                "two releases show together is not bounded"
            )
    if settings.kafka.replication_factor == 1:
        yield (
            "kafka.replication_factor is 1: if one broker loses its disk, the seals and the records that wait for "
            "their window are lost; set it to 3 before you create topics on a cluster of three brokers or more"
        )


def _stands_alone(kind: Kind, model: str) -> str:
    """Return the sentence for settings that promise something of each window alone."""
    if kind is Kind.FRAGMENTS:
        return (
            "privacy.across is none, which promises nothing of several windows together: with mixing the next set of a "
            "person is guessed with a probability of at most 1/mixing_l, with persistent places known in several "
            "windows of an epoch fit at least k people"
        )
    return (
        f"privacy.model {model}, as it is set, promises nothing of several windows together, and what is known "
        "of a person in each can be combined: choose a longer window.size, a privacy.horizon above 1 with "
        f"{', '.join(_with_horizon())} (lkc needs sensitive values for it), or flows with noise"
    )


def _adds_up(own: KindSettings) -> bool:
    """Return whether the promises of windows add up to one of several, which privacy.epsilon_per_day bounds."""
    return own.privacy.model == "flows" and own.privacy.noise == "laplace"


def _with_horizon() -> tuple[str, ...]:
    """Return the models of check-ins whose promise can span windows."""
    return tuple(name for name in models_of(Kind.CHECKINS) if issubclass(family_of(name).settings, HorizonSettings))
