"""Shards, each of which is anonymized on its own. A record gets the same shard in every process and version."""

from __future__ import annotations

from typing import Protocol

import h3.api.basic_int as h3
import numpy as np
import numpy.typing as npt

from core.places.locate import h3_cells
from core.records.arrays import FloatArray

__all__ = ["RegionShards", "Sharder", "SingleShard", "UserShards"]

ShardNumbers = tuple[npt.NDArray[np.intp], list[str]]
"""The shard of each row as an index into the list of shard names, shape ``(n,)``, and that list."""


class Sharder(Protocol):
    """A way to divide records into shards."""

    def shard(self, users: npt.NDArray[np.uint64], lat_deg: FloatArray, lon_deg: FloatArray) -> ShardNumbers:
        """Return the shard of each row; every input has shape ``(n,)``, positions are valid degrees."""
        ...


class SingleShard:
    """One shard for all records."""

    def shard(self, users: npt.NDArray[np.uint64], lat_deg: FloatArray, lon_deg: FloatArray) -> ShardNumbers:
        """See :meth:`Sharder.shard`."""
        return np.zeros(len(users), dtype=np.intp), ["all"]


class UserShards:
    """Cohorts of users, chosen by the keyed hash, so that all records of a person are in one shard."""

    def __init__(self, cohorts: int) -> None:
        self.cohorts = cohorts

    def shard(self, users: npt.NDArray[np.uint64], lat_deg: FloatArray, lon_deg: FloatArray) -> ShardNumbers:
        """See :meth:`Sharder.shard`."""
        present, numbers = np.unique(users % np.uint64(self.cohorts), return_inverse=True)
        return numbers, [f"cohort-{c}" for c in present.tolist()]


class RegionShards:
    """Coarse H3 cells: a person who crosses a border counts as another person in the next shard."""

    def __init__(self, resolution: int) -> None:
        self.resolution = resolution

    def shard(self, users: npt.NDArray[np.uint64], lat_deg: FloatArray, lon_deg: FloatArray) -> ShardNumbers:
        """See :meth:`Sharder.shard`."""
        present, numbers = np.unique(h3_cells(lat_deg, lon_deg, self.resolution), return_inverse=True)
        return numbers, [h3.int_to_str(c) for c in present.tolist()]
