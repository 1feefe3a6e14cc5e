"""A plan: everything that decides what windows of one kind of feed release, besides their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self

import h3
import numpy as np
import pyproj

from core.models.common.guarantee import Guarantee, Parameters
from core.models.common.noise import LaplaceNoise
from core.places.locate import Locator
from core.places.shard_cells import ShardCells
from core.records.keys import check_key, keyed_generator, keyed_id
from core.records.record import Rows
from core.release.outcome import Account, ReleaseRefused, Withheld, WithholdReason
from core.trajectories.assemble import Limits
from core.trajectories.stops import FoundStops, StopRule
from core.windows.draw import Counts
from core.windows.history import NO_HISTORY, History
from core.windows.seal import Seal
from core.windows.window import WindowKey

__all__ = ["ALGORITHMS", "Plan"]

ALGORITHMS = {
    "algorithms": "8",
    "numpy": np.__version__,
    "proj": pyproj.proj_version_str,
    "h3": str(h3.versions()["c"]),
}
"""Versions of everything that decides the bytes of a release: if one differs, a replay could differ.

Raise ``algorithms`` whenever the same rows would give other bytes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(ABC):
    """What the plans of all models have in common."""

    guarantee: Guarantee
    limits: Limits
    secret: bytes = field(repr=False)
    """Key of pseudonyms, release ids and random choices, 16 to 64 bytes."""

    settings: str = ""
    """Digest of the settings behind this plan; added after the files that they name are read."""

    locator: Locator | None = field(default=None, repr=False)
    """The vocabulary that numbered the locations; None for fragments, which have none."""

    shard_cells: ShardCells | None = None
    """Into which cells a window is divided before each is released on its own; None to release it as a whole."""

    stop_rule: StopRule | None = None
    """When points are a stop, if the windows have points and visits are released; None to release what the rows are."""

    history: History = field(default=NO_HISTORY, repr=False)
    """What earlier windows of the shard hand on; see :meth:`after`."""

    noise: LaplaceNoise | None = None
    """Which noise is added to counts before they are released; None if they are exact."""

    noisy: Counts | None = field(default=None, repr=False)
    """The counts of the window with noise, if there is :attr:`noise`; drawn once for each window, and an argument."""

    def __post_init__(self) -> None:
        check_key(self.secret, "the plan's secret")

    @property
    @abstractmethod
    def model(self) -> str:
        """Name of the model, as in the settings."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """The promise in numbers, for the windows message."""

    @property
    @abstractmethod
    def promise(self) -> str:
        """The name of the guarantee, for tables and pictures that compare plans."""

    @property
    def digest(self) -> str:
        """Digest of the settings, the secret and the algorithms: if it differs, a replay would differ."""
        return keyed_id(self.secret, "plan", self.settings, *self.algorithms)

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Versions of everything that decides the bytes of a release, besides the settings."""
        return tuple(ALGORITHMS.values())

    @property
    def horizon(self) -> int:
        """Over how many successive windows of a shard the promise holds; 1 if every window stands alone."""
        return 1

    @property
    def promised_linkage(self) -> float | None:
        """Largest share of a unit's people that may be together in one unit of the next release of the shard.

        See :attr:`core.release.attacks.linkage.LinkageRisk.highest`. None if nothing is promised of several releases.
        """
        return None

    def find_stops(self, seal: Seal, points: Rows) -> FoundStops:
        """Find the stops that ended in a sealed window.

        Raises:
            ValueError: The plan has no rule of stops or no vocabulary.
        """
        if self.stop_rule is None or self.locator is None:
            raise ValueError("the plan has no rule of stops, or no vocabulary to locate them")
        return self.stop_rule.find(
            points, self.history.carried, self.locator, start_ms=seal.key.start_ms, end_ms=seal.key.end_ms
        )

    def after(self, history: History) -> Self:
        """Return the plan of a window with the history of its shard; the history does not change the digest."""
        return replace(self, history=history)

    def remembering(self) -> Self:
        """Return an equal plan that keeps the result of a release, so that the release can be measured at once.

        Only models whose anonymization takes minutes keep it. Each release must be measured before the next one.
        """
        return self

    def seal(self, key: WindowKey, last_offset: int, n_rows: int, writer: str) -> Seal:
        """Make the seal of a window; its release id depends on window and plan, not on offset or writer."""
        release_id = keyed_id(self.secret, "release", key.kind, key.shard, key.start_ms, key.end_ms, self.digest)
        return Seal(
            key=key,
            last_offset=last_offset,
            n_rows=n_rows,
            release_id=release_id,
            digest=self.digest,
            writer=writer,
            history=self.history.digest,
        )

    def generator(self, seal: Seal, purpose: str = "choices") -> np.random.Generator:
        """Return the generator of a window's random choices; see :func:`core.records.keys.keyed_generator`."""
        return keyed_generator(self.secret, seal.release_id, purpose)

    def withhold(self, seal: Seal, reason: WithholdReason, *, withheld: int, duplicates: int = 0) -> Withheld:
        """Withhold a window; ``withheld`` counts its rows without ``duplicates``."""
        return Withheld(
            release_id=seal.release_id,
            key=seal.key,
            model=self.model,
            parameters=self.parameters,
            reason=reason,
            account=Account(withheld=withheld, duplicates=duplicates),
        )

    def refuse(self, seal: Seal, finding: str, *, withheld: int, duplicates: int) -> ReleaseRefused:
        """Refuse a release because of the verifier's ``finding``."""
        return ReleaseRefused(
            release_id=seal.release_id,
            key=seal.key,
            model=self.model,
            parameters=self.parameters,
            finding=finding,
            account=Account(withheld=withheld, duplicates=duplicates),
        )
