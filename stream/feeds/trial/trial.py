"""A trial: what the settings in force make of a source and, if it is not everything, settings that make more of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.records.record import INPUT_KINDS, Kind
from stream.feeds.feed import Feed
from stream.feeds.trial.findings import Findings, findings
from stream.feeds.trial.search import Proposal, SettingsSearch, TrialSource
from stream.settings.model import Settings
from stream.settings.secret import new_secret

__all__ = ["Trial", "try_source"]


_UNSIGNED = "positions are read without their signs, which other fields hold: south as north, or west as east"


@dataclass(slots=True)
class Trial:
    """The result."""

    source: str
    form: str
    in_force: Findings
    also: Kind | None = None
    """Another kind of feed as which as many records can be read."""

    looks: dict[str, int] = field(default_factory=dict)
    proposal: Proposal | None = None
    remarks: list[str] = field(default_factory=list)
    presets: list[dict[str, Any]] = field(default_factory=list)
    """The presets that understand something, best first."""

    @property
    def has_result(self) -> bool:
        """Whether something was understood, or settings are proposed."""
        return self.in_force.understood > 0 or self.proposal is not None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data, without any value of a record."""
        return {
            "source": self.source,
            "form": self.form,
            "looks_like": self.looks,
            **self.in_force.as_dict(),
            "also": None if self.also is None else self.also.value,
            "remarks": self.remarks,
            "presets": self.presets,
            "proposal": None if self.proposal is None else self.proposal.as_dict(),
        }


def try_source(source: TrialSource, settings: Settings, kind: Kind | None, most: int) -> Trial:
    """Try to read the first records of a source.

    Args:
        source: The source.
        settings: The settings in force.
        kind: What it holds; None to find out.
        most: Number of records.

    Raises:
        SettingsError: The settings in force do not fit one another.
    """
    kinds = [kind] if kind is not None else list(INPUT_KINDS)
    feeds = {one: Feed(settings, one, secret=new_secret()) for one in kinds}
    in_force = {one: findings(source, settings, one, most, feeds[one]) for one in kinds}
    form = source.form()
    search = {one: SettingsSearch(source, settings, one, most, feeds[one]) for one in kinds}
    for one in kinds:
        if search[one].misreads_signs and in_force[one].understood:
            in_force[one].refusal = _UNSIGNED
    if done := {one.kind: one for one in in_force.values() if one.is_all_understood}:
        chosen = _natural(done)
        also = next((one for one in done if one is not chosen), None)
        return Trial(source.name, form, done[chosen], also=also, remarks=_doubts(done[chosen]))
    proposals = {one: search[one].best(in_force[one]) for one in kinds}
    incomplete = [one for one, proposal in proposals.items() if proposal is not None and proposal.findings is None]
    best = {
        one: in_force[one] if proposal is None else proposal.findings or Findings(one)
        for one, proposal in proposals.items()
    }
    hints = {one: list(guess.remarks) if (guess := search[one].guess) is not None else [] for one in kinds}
    if any(one.understood for one in best.values()):
        chosen = _natural(best)
    else:
        chosen = max(kinds, key=lambda one: (one in incomplete, bool(hints[one])))
    proposal = proposals[chosen]
    if proposal is not None and proposal.findings is not None:
        proposal.remarks += _doubts(proposal.findings)
    return Trial(
        source.name,
        form,
        in_force[chosen],
        also=_as_good(chosen, best),
        looks=dict(search[chosen].sample.looks),
        proposal=proposal,
        remarks=hints[chosen] + _doubts(in_force[chosen]) if proposal is None else [],
        presets=search[chosen].ranking(),
    )


def _doubts(found: Findings) -> list[str]:
    return [] if found.doubt_of_person is None else [found.doubt_of_person]


def _natural(best: Mapping[Kind, Findings]) -> Kind:
    """Return the kind as which more is read; but whose records have lists of points, they are fragments."""
    lists, single = best.get(Kind.FRAGMENTS), best.get(Kind.CHECKINS)
    if lists is not None and single is not None and lists.points > lists.understood:
        is_as_good = lists.share_understood >= single.share_understood and 2 * lists.points >= single.points
        return Kind.FRAGMENTS if is_as_good else Kind.CHECKINS
    return max(best, key=lambda one: best[one].rank)


def _as_good(chosen: Kind, best: Mapping[Kind, Findings]) -> Kind | None:
    """Return another kind as which no smaller part is understood."""
    return next(
        (
            one
            for one, found in best.items()
            if one is not chosen and found.share_understood >= best[chosen].share_understood > 0
        ),
        None,
    )
