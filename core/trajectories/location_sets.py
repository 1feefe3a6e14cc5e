"""Sets of the locations that each person visited, without order and repetition."""

from __future__ import annotations

import numpy as np

from core.records.by_user import same_as_before
from core.trajectories.trajectory import Sequences

__all__ = ["location_sets"]


def location_sets(trajectories: Sequences) -> Sequences:
    """Return the distinct locations of each person, over all of the person's trajectories.

    Returns:
        One trajectory for each person, in the order of their numbers, with ascending locations.

    >>> window = Sequences(users=np.array([0, 0, 1]), starts=np.array([0, 2, 4, 4]), locations=np.array([7, 3, 3, 5]))
    >>> location_sets(window).locations.tolist(), location_sets(window).starts.tolist()
    ([3, 5, 7], [0, 3, 3])
    """
    owner = trajectories.owners  # (p,)
    order = np.lexsort((trajectories.locations, owner))
    owner, locations = owner[order], trajectories.locations[order]
    first = ~same_as_before(owner, locations)
    people = np.arange(trajectories.n_users)
    return Sequences(
        users=people,
        starts=np.searchsorted(owner[first], np.append(people, len(people))).astype(np.int64),
        locations=locations[first],
    )
