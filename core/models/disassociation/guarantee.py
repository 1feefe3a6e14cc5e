"""What the model promises: k^m-anonymity of a disassociated release, and l-diversity of sensitive locations."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.common.guarantee import at_least

__all__ = ["DisassociatedKm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisassociatedKm:
    """k^m-anonymity of a disassociated release (Terrovitis et al. 2012, Guarantee 1).

    Take any set of up to ``m`` locations that, according to the release, one person may have visited. The release then
    describes at least one possible window in which at least ``k`` people visited all of them. Order does not matter.

    With ``l`` (Section 5, Diversity) this holds for locations that are not sensitive. Nothing links a sensitive
    location to anything but a cluster of at least ``l`` people, and at most one in ``l`` of these visited it. So nobody
    in the cluster was there with a probability above ``1 / l``. The paper demands large clusters, and does not consider
    that several people of one may have visited the same sensitive location.

    Raises:
        ValueError: A parameter is out of its range.
    """

    k: int
    """Fewest people who visited them in that possible window, and fewest people of a cluster. At least 2."""

    m: int
    """Most locations the adversary is assumed to know of a person. At least 1."""

    l: int | None = None  # noqa: E741 - the paper's name
    """At most one in ``l`` people of a cluster visited any one sensitive location that it names. At least 2; None if no
    location is sensitive."""

    def __post_init__(self) -> None:
        at_least("k", self.k, 2)
        at_least("m", self.m, 1)
        if self.l is not None:
            at_least("l", self.l, 2)

    @property
    def smallest_cluster(self) -> int:
        """Fewest people of a cluster."""
        return max(self.k, self.l or 0)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        return (
            f"an adversary who knows up to {self.m} places of a person finds at least {self.k} people who may have "
            "visited all of them"
            + ("" if self.l is None else f"; at most one in {self.l} of a cluster was at any one sensitive place")
        )
