"""LKC-privacy over a horizon: suppress pairs, then people, until both the window and all signatures keep the promise.

People who are left out for balance no longer support the pairs of others, so pairs are suppressed again, and so on. It
ends: each round leaves somebody out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from core.models.lkc.anonymize.roles import balanced, returning
from core.models.lkc.anonymize.suppress import LKCOptions, Suppression, suppress_pairs
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.pairs import Values
from core.models.lkc.signature import entries_needed
from core.records.arrays import UserHashes
from core.trajectories.trajectory import Sequences
from core.windows.history import History

__all__ = ["suppress_over_horizon"]


def suppress_over_horizon(
    trajectories: Sequences,
    users: UserHashes,
    values: Values,
    guarantee: LKCPrivacy,
    history: History,
    *,
    sensitive: Collection[str],
    options: LKCOptions,
    generator: np.random.Generator,
) -> Suppression:
    """Suppress pairs and people until the window keeps the promise, and the promise over the horizon.

    The figures of the result that are not about people or kept visits are those of the first round.

    Args:
        trajectories: The window; one trajectory for each person.
        users: Keyed hash of each user, ascending, shape ``(n_users,)``.
        values: The values of its people; all are sensitive.
        guarantee: l, k, c and the horizon.
        history: What earlier windows released.
        sensitive: Names of the sensitive values, in the order of their codes.
        options: How pairs are chosen.
        generator: Chooses the people who are left out.
    """
    carried = values.of_users(len(users))
    size = entries_needed(guarantee.c)
    roles = returning(history, users, carried, {name: code for code, name in enumerate(sensitive)}, size=size)
    known = {user: role for user, role in roles.items() if role is not None}
    owners = trajectories.owners
    # They would support the pairs of others, and cannot be released themselves.
    kept = ~np.isin(owners, sorted(roles.keys() - known.keys()))
    left_out = len(np.unique(owners)) - len(np.unique(owners[kept]))
    suppressed: list[int] = []
    first: Suppression | None = None
    while True:
        result = suppress_pairs(
            trajectories.where(kept), values, guarantee, sensitive=range(len(sensitive)), options=options
        )
        first = first or result
        suppressed += result.suppressed
        kept[kept] = result.kept
        present = np.unique(owners[kept]).tolist()
        found = balanced(present, users, carried, known, size=size, generator=generator)
        if len(found) == len(present):
            return replace(first, kept=kept, suppressed=tuple(suppressed), roles=found, left_out=left_out)
        left_out += len(present) - len(found)
        kept &= np.isin(owners, sorted(found))
