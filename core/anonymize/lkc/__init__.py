"""LKC-privacy: location-time pairs are suppressed, and sensitive values are bounded in share.

    levels.py      sequences that occur, size by size
    violating.py   the minimal ones that break the requirement
    frequent.py    the maximal frequent ones, which suppression should spare
    greedy.py      which pairs to suppress
    suppress.py    all of it, in bounded work

What it promises and costs is said in core/anonymize/lkc.md.
"""

from core.anonymize.lkc.suppress import LKCOptions, Suppression, Utility, suppress_pairs

__all__ = ["LKCOptions", "Suppression", "Utility", "suppress_pairs"]
