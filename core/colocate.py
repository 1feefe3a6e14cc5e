"""Colocate: the GPS trajectories of one window become (k,delta)-anonymity sets, by the model that the settings name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from core.anonymize.bounding import BoundedOptions, bounded
from core.anonymize.never_walk_alone import NeverWalkAloneOptions, never_walk_alone
from core.anonymize.segmentation import SegmentationOptions, representativeness, segment
from core.anonymize.sets import AnonymitySets, SetOptions
from core.anonymize.wait4me import Wait4Me, Wait4MeOptions, wait4me
from core.assemble import PointWindow
from core.guarantees import KDelta
from core.trajectory import Demands, PointTrajectories

__all__ = ["BoundedWaitForMe", "Colocated", "Colocator", "NeverWalkAlone", "SegmentedWaitForMe", "WaitForMe"]

Parameters = dict[str, float | int | str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Colocated:
    """What became of a window."""

    trajectories: PointTrajectories
    """What was clustered: the window's trajectories, or pieces of them; the same points in the same order."""

    demands: Demands
    """What each of these is given."""

    sets: AnonymitySets
    """What was made of them."""

    relaxed: npt.NDArray[np.bool_] | None = None
    """Users who are given less than they demand, though no less than everybody is given, shape
    ``(trajectories.n_users,)``; None where the model relaxes nobody's demands."""


class Colocator(Protocol):
    """One of the models."""

    @property
    def model(self) -> str:
        """Name of the model, as in the settings."""
        ...

    @property
    def personal(self) -> bool:
        """Whether people can demand more than everybody is given."""
        ...

    @property
    def parameters(self) -> Parameters:
        """What decides about the release beside the guarantee, for the windows message."""
        ...

    def colocate(self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator) -> Colocated:
        """Make sets of the trajectories of a window, each with what its members demand.

        Args:
            window: The window.
            guarantee: What everybody is given in any case.
            rng: Source of all chance.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverWalkAlone:
    """NWA."""

    options: NeverWalkAloneOptions = field(default_factory=NeverWalkAloneOptions)
    model: str = field(default="nwa", init=False)
    personal: bool = field(default=False, init=False)

    @property
    def parameters(self) -> Parameters:
        """See :class:`Colocator`."""
        return {"distance": "euclidean", **_published(self.options)}

    def colocate(self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator) -> Colocated:
        """See :class:`Colocator`."""
        return _whole(window, never_walk_alone(window.trajectories, window.demands, self.options, rng))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForMe:
    """W4M, or PW4M where people may demand more."""

    options: Wait4MeOptions = field(default_factory=Wait4MeOptions)
    personal: bool = False

    @property
    def model(self) -> str:
        """See :class:`Colocator`."""
        return "pw4m" if self.personal else "w4m"

    @property
    def parameters(self) -> Parameters:
        """See :class:`Colocator`."""
        return {"distance": self.options.distance, **_published(self.options)}

    def colocate(self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator) -> Colocated:
        """See :class:`Colocator`."""
        return _whole(window, wait4me(window.trajectories, window.demands, self.options, rng))


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentedWaitForMe:
    """PW4M+TR: PW4M on pieces of trajectories that have about the same company all along."""

    options: Wait4MeOptions = field(default_factory=Wait4MeOptions)
    segmentation: SegmentationOptions = field(default_factory=SegmentationOptions)
    model: str = field(default="pw4m-tr", init=False)
    personal: bool = field(default=True, init=False)

    @property
    def parameters(self) -> Parameters:
        """See :class:`Colocator`."""
        return {"distance": self.options.distance, **_published(self.options)}

    def colocate(self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator) -> Colocated:
        """See :class:`Colocator`."""
        segmentation = segment(window.trajectories, self.segmentation)
        pieces, sources = segmentation.pieces, segmentation.sources
        demands = window.demands.of(sources)
        return Colocated(
            trajectories=pieces,
            demands=demands,
            sets=wait4me(pieces, demands, self.options, rng),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedWaitForMe:
    """Bounded PW4M: the most demanding are given less, but never less than everybody, for a lower distortion."""

    options: Wait4MeOptions = field(default_factory=Wait4MeOptions)
    sigma_m: float = 200.0
    """How near is together, which decides who counts as a neighbour: as in segmentation, metres."""

    bound: BoundedOptions = field(default_factory=BoundedOptions)
    model: str = field(default="bounded-pw4m", init=False)
    personal: bool = field(default=True, init=False)

    @property
    def parameters(self) -> Parameters:
        """See :class:`Colocator`."""
        return {
            "distance": self.options.distance,
            "improvement": self.bound.improvement,
            **_published(self.options),
        }

    def colocate(self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator) -> Colocated:
        """See :class:`Colocator`."""
        trajectories, n = window.trajectories, len(window.trajectories.users)
        key = rng.integers(0, 2**64, 2, np.uint64)  # every try draws the same
        waiting = Wait4Me(trajectories, self.options, largest_delta_m=float(window.demands.delta_m.max(initial=0.0)))
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
        return Colocated(trajectories=trajectories, demands=result.demands, sets=result.sets, relaxed=relaxed)


def _published(options: SetOptions) -> Parameters:
    return {"translation": options.translation, "clustering": "refined" if options.refined else "greedy"}


def _whole(window: PointWindow, sets: AnonymitySets) -> Colocated:
    """Tell of a window whose trajectories stayed whole and got what they demand."""
    return Colocated(trajectories=window.trajectories, demands=window.demands, sets=sets)
