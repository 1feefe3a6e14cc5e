"""tlost, the share of locations that are in term chunks alone (Terrovitis et al. 2012)."""

from __future__ import annotations

import numpy as np

from core.models.disassociation.disassociated import Disassociated
from core.trajectories.trajectory import Sequences

__all__ = ["lost_locations"]


def lost_locations(original: Sequences, release: Disassociated, *, k: int) -> float:
    """Return tlost: of the locations that at least k people visited, the share in no record or shared chunk.

    Returns:
        In 0..1; NaN if at least k people visited no location.
    """
    frequent = np.flatnonzero(np.bincount(original.locations) >= k)
    held = {location for chunk in release.chunks for location in chunk.locations}
    return float(np.mean([location not in held for location in frequent.tolist()])) if len(frequent) else float("nan")
