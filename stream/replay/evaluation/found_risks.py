"""The risks that attacks on the parts of a file found, as those of its people."""

from __future__ import annotations

import numpy as np

from core.places.geo import LocalProjection
from core.records.arrays import FloatArray
from core.release.attacks.background import TooManyInstancesError
from core.trajectories.journeys import Journeys
from stream.replay.evaluation.attacks import AttackOptions, attack
from stream.replay.evaluation.known_visits import KnownVisits

__all__ = ["FoundRisks"]


class FoundRisks:
    """The highest probability of finding each person, over the windows of all parts."""

    def __init__(self) -> None:
        self.n_parts = 0
        """Number of parts that were attacked."""

        self.fault: str | None = None
        """Why an attack was too much work; there are no risks then."""

        self._of_person: dict[str, float] = {}
        self._of_others: list[FloatArray] = []

    def add(self, journeys: Journeys, kind: KnownVisits, options: AttackOptions, plane: LocalProjection | None) -> None:
        """Attack a part with everybody in its windows; arguments as for :func:`attack`."""
        self.n_parts += 1
        if self.fault is not None or not journeys.n_visits:
            return
        try:
            result = attack(journeys, kind, options, plane=plane)
        except TooManyInstancesError as fault:
            self.fault = str(fault)
            return
        if result is None:
            return
        if journeys.people is None:  # nobody is in several parts by name
            self._of_others.append(result.risks)
            return
        for user, risk in zip(result.users.tolist(), result.risks.tolist(), strict=True):
            name = journeys.people[user]
            self._of_person[name] = max(self._of_person.get(name, 0.0), risk)

    @property
    def risks(self) -> FloatArray:
        """Of each person with a visit, ascending, shape ``(n,)``; empty if no attack was possible."""
        if self.fault is not None:
            return np.zeros(0)
        return np.sort(np.concatenate([np.array(list(self._of_person.values())), *self._of_others]))
