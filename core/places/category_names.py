"""Category names: which category of a tree a record, a file or a setting means."""

from __future__ import annotations

from collections import Counter

from core.places.taxonomy import BELOW, Categories
from core.records.identity import Names, canonical

__all__ = ["CategoryNames"]


class CategoryNames:
    """Finds a category by its name in any spelling, or by the last part of a path such as ``Food > Bakery``.

    Args:
        tree: The categories; those that come from paths are named by their whole path.

    >>> names = CategoryNames(Categories.from_paths([("Food", "Bakery"), ("Food", "Other"), ("Shop", "Other")]))
    >>> [names.find(one) for one in ("food>bakery", "BAKERY", "Shop > Other", "Other")]
    ['Food > Bakery', 'Food > Bakery', 'Shop > Other', None]
    """

    def __init__(self, tree: Categories) -> None:
        self.known = list(tree.parent_of)
        """The categories as the tree names them."""
        self._whole = Names(self.known)
        lasts = [_last(name) for name in self.known]
        n_of = Counter(canonical(last) for last in lasts)
        self._by_last = {last: name for last, name in zip(lasts, self.known, strict=True) if n_of[canonical(last)] == 1}
        self._lasts = list(self._by_last)
        self._last = Names(self._lasts)

    def find(self, text: str) -> str | None:
        """Return the category as the tree names it; None if there is none, or if it could be several."""
        if self._whole.is_too_long(text):
            return None
        path = BELOW.join(part.strip() for part in text.split(BELOW.strip()))
        if (found := self._whole.find(path)) >= 0:
            return self.known[found]
        found = self._last.find(_last(path))
        return self._by_last[self._lasts[found]] if found >= 0 else None


def _last(path: str) -> str:
    return path.rpartition(BELOW)[2]
