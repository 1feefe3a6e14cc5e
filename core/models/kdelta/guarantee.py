"""What the model promises: (k,delta)-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["KDelta", "Mixing", "Persistent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing:
    """The people of a released set are spread over several sets of each later window within the horizon.

    Take a set of one window, and a later window of the same shard within the horizon. Let R be the people of the set
    who are released in the later window. At most ``|R| / l`` of them are in any one set there, in whole numbers: of
    three people, with ``l = 2``, one. So R is empty, or has at least ``l`` people in at least ``l`` sets. A person with
    several trajectories is in the set of each. A window of fewer than ``2 k`` people is exempt: it can have only
    one set, and whoever knows that somebody is released there knows the set without any earlier window.

    The adversary knows a person's set and that the person is in R, everything that is released, and for each set of the
    later window how many people of R are in it. The members of R are then all alike, and the adversary names a set that
    the person is in with probability at most ``1 / l``.

    Shoal's own.

    Raises:
        ValueError: A parameter is out of its range.
    """

    l: int = 2  # noqa: E741 - the name in the literature
    """Largest share of R in one set, as its reciprocal. At least 2."""

    horizon: int = 2
    """Over how many successive windows of a shard the promise holds. At least 2."""

    def __post_init__(self) -> None:
        at_least("l", self.l, 2)
        at_least("horizon", self.horizon, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Persistent:
    """Inside an epoch, at least k people share a person's sets in every window in which the person is released.

    An epoch is ``horizon`` successive windows; windows are counted from 1970, so all workers agree on epochs. For each
    released trajectory of a person, at least k people (the person included) are in its set, and were in all sets in
    which the person was in the earlier windows of the epoch. This is historical k-anonymity (Bettini, Wang, Jajodia
    2005) of sets. It holds for any choice of the windows in which an adversary saw the person, because whoever shares
    all sets shares some of them.

    If nothing was released in the epoch yet, the people of each set of the last released window before it, within
    ``horizon`` windows, are mixed: at most one in ``l`` of those who are released again is in any one set.

    Raises:
        ValueError: A parameter is out of its range.
    """

    horizon: int
    """Windows of an epoch. At least 2."""

    window_ms: int
    """Length of a window. At least 1."""

    l: int = 2  # noqa: E741 - as for mixing
    """Largest share of a set's people in one set after the border of an epoch, as its reciprocal. At least 2."""

    def __post_init__(self) -> None:
        at_least("l", self.l, 2)
        at_least("horizon", self.horizon, 2)
        at_least("window_ms", self.window_ms, 1)

    def epoch_of(self, t_ms: int) -> int:
        """Return the number of the epoch that contains an instant."""
        return t_ms // self.window_ms // self.horizon

    def windows_left(self, t_ms: int) -> int:
        """Return how many windows of its epoch come after the window that contains an instant."""
        return self.horizon - 1 - t_ms // self.window_ms % self.horizon


@dataclass(frozen=True, slots=True, kw_only=True)
class KDelta:
    """(k,delta)-anonymity of trajectories (Abul, Bonchi, Nanni 2008; Theodosopoulos 2013, Definitions 2 to 4).

    Each released trajectory belongs to a set of at least ``k`` people's trajectories that have the same time
    stamps and lie within ``delta_m`` of one another at each of them. With ``personal``, people may demand more
    (section 4); ``k`` and ``delta_m`` are then the least that everybody is given.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest distinct people in a released set. At least 2."""

    delta_m: float
    """Uncertainty diameter, metres: the largest distance inside a set at any time stamp. Above 1."""

    personal: bool = False
    """Whether a set keeps the largest k and the smallest delta that any of its members demands. Otherwise a person who
    demands more than ``k`` and ``delta_m`` is not released."""

    across: Mixing | Persistent | None = None
    """What several windows together promise; None if each stands alone."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        if not 1 < self.delta_m < float("inf"):
            raise ValueError(f"delta_m is {self.delta_m}: it must be a finite number of metres above 1")

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        who = " (or the larger k and smaller distance that members demand)" if self.personal else ""
        later = "" if self.across is None else self._across(self.across)
        return (
            f"each trajectory belongs to a set of at least {self.k} people's trajectories that stay within "
            f"{self.delta_m:g} m of one another{who}{later}"
        )

    def _across(self, across: Mixing | Persistent) -> str:
        if isinstance(across, Mixing):
            return (
                f"; of the people of a set who are released in one of the next {across.horizon - 1} windows, at "
                f"most one in {across.l} is in any one set there"
            )
        return (
            f"; in an epoch of {across.horizon} windows, at least {self.k} people share the person's sets in every "
            f"window in which the person is released; between epochs, at most one in {across.l} of the people of a set "
            "is in any one set of the next window"
        )
