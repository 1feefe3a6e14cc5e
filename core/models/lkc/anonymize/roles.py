"""Give people signatures, and leave people out until each signature's entries are true of equally many.

After m-invariance (Xiao and Tao 2007, Section 4): a person who is remembered keeps the signature; what is missing in a
signature is taken from new people; new people with a sensitive value get a signature, and the new people that it needs.
The surplus is left out. Invented people, with which the paper fills up, are not released here.

New people serve in the order of their keyed hashes, wherever they went. So somebody who has been forgotten most likely
serves again, and an adversary who knows this program cannot tell from places who serves whom. If people served their
neighbours, whoever has a neighbour without a signature could not be the one who is served.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from core.models.lkc.signature import NONE, UNPROTECTED, Signature, SignedRole, role_of_label
from core.records.arrays import UserHashes
from core.windows.history import History

__all__ = ["balanced", "returning"]


def returning(
    history: History, users: UserHashes, carried: Sequence[Collection[int]], codes: Mapping[str, int], *, size: int
) -> dict[int, SignedRole | None]:
    """Return the role of each user of a window who was released in an earlier one, by user number.

    The role is the latest one, or another of its signature if the user's values have changed. None if no release of
    the user can keep the promise: the values are outside the signature, or it is none of the present settings, or the
    earlier signatures differ, because the user was in several cells of a window.

    Args:
        history: Rosters of the earlier windows, oldest first.
        users: Keyed hash of each user of the window, ascending, shape ``(n_users,)``.
        carried: The sensitive values of each user of the window.
        codes: Code of each sensitive value by its name.
        size: Fewest entries of a signature.
    """
    latest: dict[int, SignedRole | None] = {}
    for roster in history.rosters:
        roles = [role_of_label(label, codes) for label in roster.labels]
        at = np.searchsorted(users, roster.users)
        at[at == len(users)] = 0
        here = np.flatnonzero(users[at] == roster.users) if len(users) else np.empty(0, np.int64)
        for user, group in zip(at[here].tolist(), roster.groups[here].tolist(), strict=True):
            role = roles[group] if group < len(roles) else None
            if role is not None and 0 < len(role[0]) < size:
                role = None
            before = latest.get(user, role)
            latest[user] = None if role is None or before is None or role[0] != before[0] else role
    return {user: _true_role(role, carried[user], int(users[user])) for user, role in latest.items()}


def _true_role(role: SignedRole | None, values: Collection[int], choice: int) -> SignedRole | None:
    """Return the role itself if it is true of these values, another of its signature that is, or None."""
    if role is None:
        return None
    signature, entry = role
    if not signature:
        return None if values else role
    true = [i for i, code in enumerate(signature) if (code in values if code != NONE else not values)]
    if entry in true:
        return role
    return (signature, true[choice % len(true)]) if true else None


def balanced(
    present: Sequence[int],
    users: UserHashes,
    carried: Sequence[Collection[int]],
    known: Mapping[int, SignedRole],
    *,
    size: int,
    generator: np.random.Generator,
) -> dict[int, SignedRole]:
    """Return the role of each user who may be released; the others are left out.

    Args:
        present: The users who would have a visit in the release, ascending.
        users: Keyed hash of each user of the window, ascending, shape ``(n_users,)``.
        carried: The sensitive values of each user of the window.
        known: The roles of the users who are remembered; see :func:`returning`.
        size: Number of entries of a new signature.
        generator: Chooses the surplus.
    """
    holders: defaultdict[SignedRole, list[int]] = defaultdict(list)
    new: defaultdict[int, deque[int]] = defaultdict(deque)  # by value, in the order of hashes
    for user in present:
        if user in known:
            holders[known[user]].append(user)
        else:
            values = sorted(carried[user])
            new[values[int(users[user]) % len(values)] if values else NONE].append(user)
    for signature in sorted({signature for signature, _ in holders if signature}):
        _fill(signature, holders, new)
    for signature, members in _new_signatures(new, size):
        for entry, user in enumerate(members):
            holders[signature, entry].append(user)
    found = dict.fromkeys([*holders.pop(UNPROTECTED, []), *new[NONE]], UNPROTECTED)
    for signature in sorted({signature for signature, _ in holders}):
        roles = [(signature, entry) for entry in range(len(signature))]
        fewest = min(len(holders[role]) for role in roles)
        for role in roles:
            found.update(dict.fromkeys(_some(sorted(holders[role]), fewest, generator), role))
    return found


def _some(users: list[int], count: int, generator: np.random.Generator) -> list[int]:
    """Choose some of the users; nothing is drawn if all are needed."""
    if len(users) == count:
        return users
    return [users[i] for i in generator.permutation(len(users))[:count].tolist()]


def _fill(signature: Signature, holders: defaultdict[SignedRole, list[int]], new: defaultdict[int, deque[int]]) -> None:
    """Fill the entries of a signature that fewer people hold than others, from new people, as far as there are any."""
    entries = [holders[signature, entry] for entry in range(len(signature))]
    most = max(map(len, entries))
    while (fewest := min(map(len, entries))) < most:
        short = [entry for entry, its in enumerate(entries) if len(its) == fewest]
        needed = Counter(signature[entry] for entry in short)
        if any(len(new[code]) < count for code, count in needed.items()):
            return
        for entry in short:
            entries[entry].append(new[signature[entry]].popleft())


def _new_signatures(new: defaultdict[int, deque[int]], size: int) -> list[tuple[Signature, list[int]]]:
    """Take new people with sensitive values, and those who serve as "none", and put them into signatures.

    A signature has one value, and "none" as often as needed, if there are people enough without a value. Otherwise it
    has as many values as will do, those that most are left of. People who fit into none stay in ``new``.
    """
    found: list[tuple[Signature, list[int]]] = []
    while left := {code: len(its) for code, its in new.items() if code != NONE and its}:
        carriers, n_none = sum(left.values()), len(new[NONE])
        # In signatures with v values, each v carriers need size - v people without a value.
        n_values = min(-(-size * carriers // (carriers + n_none)), len(left))
        if size - n_values > n_none:
            break
        values = sorted(sorted(left, key=lambda code: (-left[code], code))[:n_values])
        signature = (*values, *[NONE] * (size - n_values))
        found.append((signature, [new[code].popleft() for code in signature]))
    return found
