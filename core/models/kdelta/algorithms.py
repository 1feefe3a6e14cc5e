"""The algorithms of (k,delta)-anonymity: the configured model groups the GPS trajectories of one window into sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from core.models.common.algorithm import Algorithm
from core.models.common.guarantee import Parameters
from core.models.kdelta.anonymize.across import Across
from core.models.kdelta.anonymize.bounding import BoundedOptions, bounded
from core.models.kdelta.anonymize.never_walk_alone import NeverWalkAloneOptions, never_walk_alone
from core.models.kdelta.anonymize.segmentation import SegmentationOptions, representativeness, segment
from core.models.kdelta.anonymize.sets import AnonymitySets, SetOptions
from core.models.kdelta.anonymize.wait4me import Wait4Me, Wait4MeOptions, wait4me
from core.models.kdelta.assemble import PointWindow
from core.models.kdelta.guarantee import KDelta
from core.records.arrays import BoolArray
from core.trajectories.trajectory import Demands, PointTrajectories

__all__ = [
    "AnonymizedTrajectories",
    "BoundedWaitForMe",
    "NeverWalkAlone",
    "SegmentedWaitForMe",
    "TrajectoryAlgorithm",
    "WaitForMe",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnonymizedTrajectories:
    """The result of anonymizing a window."""

    trajectories: PointTrajectories
    """The clustered trajectories: the window's own or pieces of them, with the same points in the same order."""

    demands: Demands
    """k and delta that each of these trajectories is given."""

    sets: AnonymitySets
    """The sets made of them."""

    relaxed: BoolArray | None = None
    """Whether each user is given less than the user demands (but no less than everybody), shape
    ``(trajectories.n_users,)``; None if the model never relaxes demands."""


class TrajectoryAlgorithm(Algorithm, Protocol):
    """Makes (k,delta)-anonymity sets of a window's trajectories."""

    @property
    def personal(self) -> bool:
        """Whether people can demand more than everybody is given."""
        ...

    def anonymize(
        self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator, across: Across | None = None
    ) -> AnonymizedTrajectories:
        """Make sets of the trajectories of a window; each set meets the demands of its members.

        Args:
            window: The window.
            guarantee: The least that everybody is given.
            rng: Source of all random choices.
            across: Makes the clusters keep a promise about earlier windows; None if there is none.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverWalkAlone:
    """Never Walk Alone (NWA)."""

    options: NeverWalkAloneOptions = field(default_factory=NeverWalkAloneOptions)
    model: str = field(default="nwa", init=False)
    personal: bool = field(default=False, init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {"distance": "euclidean", **_published(self.options)}

    def anonymize(
        self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator, across: Across | None = None
    ) -> AnonymizedTrajectories:
        """See :meth:`TrajectoryAlgorithm.anonymize`."""
        return _whole(window, never_walk_alone(window.trajectories, window.demands, self.options, rng, across))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForMe:
    """Wait for Me (W4M), or Personalized Wait for Me (PW4M) if people may demand more."""

    options: Wait4MeOptions = field(default_factory=Wait4MeOptions)
    personal: bool = False

    @property
    def model(self) -> str:
        """See :attr:`Algorithm.model`."""
        return "pw4m" if self.personal else "w4m"

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {"distance": self.options.distance, **_published(self.options)}

    def anonymize(
        self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator, across: Across | None = None
    ) -> AnonymizedTrajectories:
        """See :meth:`TrajectoryAlgorithm.anonymize`."""
        return _whole(window, wait4me(window.trajectories, window.demands, self.options, rng, across))


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentedWaitForMe:
    """PW4M+TR: PW4M on pieces of trajectories; along a piece, the number of people nearby hardly changes."""

    options: Wait4MeOptions = field(default_factory=Wait4MeOptions)
    segmentation: SegmentationOptions = field(default_factory=SegmentationOptions)
    model: str = field(default="pw4m-tr", init=False)
    personal: bool = field(default=True, init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {"distance": self.options.distance, **_published(self.options)}

    def anonymize(
        self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator, across: Across | None = None
    ) -> AnonymizedTrajectories:
        """See :meth:`TrajectoryAlgorithm.anonymize`."""
        segmentation = segment(window.trajectories, self.segmentation)
        pieces, sources = segmentation.pieces, segmentation.sources
        demands = window.demands.of(sources)
        return AnonymizedTrajectories(
            trajectories=pieces,
            demands=demands,
            sets=wait4me(pieces, demands, self.options, rng, across),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedWaitForMe:
    """Bounded PW4M: relaxes the demands of the most demanding people to lower the distortion.

    Nobody is given less than the guarantee gives everybody.
    """

    options: Wait4MeOptions = field(default_factory=Wait4MeOptions)
    sigma_m: float = 200.0
    """Distance that counts as near when neighbours are counted, metres; as in segmentation."""

    bound: BoundedOptions = field(default_factory=BoundedOptions)
    model: str = field(default="bounded-pw4m", init=False)
    personal: bool = field(default=True, init=False)

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Algorithm.parameters`."""
        return {
            "distance": self.options.distance,
            "improvement": self.bound.improvement,
            **_published(self.options),
        }

    def anonymize(
        self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator, across: Across | None = None
    ) -> AnonymizedTrajectories:
        """See :meth:`TrajectoryAlgorithm.anonymize`."""
        trajectories, n = window.trajectories, len(window.trajectories.users)
        key = rng.integers(0, 2**64, 2, np.uint64)  # every try draws the same numbers
        largest_delta_m = float(window.demands.delta_m.max(initial=0.0))
        waiting = Wait4Me(trajectories, self.options, largest_delta_m=largest_delta_m, across=across)
        result = bounded(
            lambda demands: waiting.anonymize(demands, np.random.Generator(np.random.Philox(key=key))),
            window.demands,
            representativeness(trajectories, sigma_m=self.sigma_m),
            np.diff(trajectories.starts),
            least=Demands.alike(n, k=guarantee.k, delta_m=guarantee.delta_m),
            options=self.bound,
        )
        relaxed = np.zeros(trajectories.n_users, dtype=np.bool_)
        relaxed[trajectories.users[result.edited]] = True
        return AnonymizedTrajectories(
            trajectories=trajectories, demands=result.demands, sets=result.sets, relaxed=relaxed
        )


def _published(options: SetOptions) -> Parameters:
    return {"translation": options.translation, "clustering": "refined" if options.refined else "greedy"}


def _whole(window: PointWindow, sets: AnonymitySets) -> AnonymizedTrajectories:
    """Return the result for a window whose trajectories stay whole and are given what they demand."""
    return AnonymizedTrajectories(trajectories=window.trajectories, demands=window.demands, sets=sets)
