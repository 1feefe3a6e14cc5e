"""The extracts of the latest releases, in memory only: they are for a metric, and a restart may forget them."""

from __future__ import annotations

from collections import OrderedDict

from core.records.record import Kind
from core.release.attacks.linkage import LinkageExtract
from core.windows.window import WindowKey

__all__ = ["LatestExtracts"]

_MOST_BYTES = 64 * 2**20
"""Most memory of all extracts: a window of 10,000 people with 10 locations each takes about a megabyte."""


class LatestExtracts:
    """The extract of the latest release of each shard. If there are too many, those used longest ago are forgotten.

    Args:
        most_bytes: Most memory of all extracts.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes, self._n_bytes = most_bytes, 0
        self._latest: OrderedDict[tuple[Kind, str], tuple[int, LinkageExtract]] = OrderedDict()

    def before(self, key: WindowKey) -> LinkageExtract | None:
        """Return the extract of the window just before a window of a shard; None if it is unknown or not released."""
        end_ms, extract = self._latest.get((key.kind, key.shard), (0, None))
        return extract if end_ms == key.start_ms else None

    def keep(self, key: WindowKey, extract: LinkageExtract | None) -> None:
        """Keep the extract of a release in place of the shard's earlier one, unless nothing was released."""
        if extract is None:
            return
        shard = key.kind, key.shard
        if shard in self._latest:
            self._n_bytes -= self._latest.pop(shard)[1].n_bytes
        self._latest[shard] = key.end_ms, extract
        self._n_bytes += extract.n_bytes
        while self._n_bytes > self._most_bytes:
            self._n_bytes -= self._latest.popitem(last=False)[1][1].n_bytes
