"""How many examples a test draws: few for `make test`, all that it was written for in `make test-deep`, some in CI.

The environment variable ``HYPOTHESIS_PROFILE`` chooses a profile, for budgets and for hypothesis alike:

- ``quick``, the default, draws a twentieth of each budget, and the same examples in every run: a failure then comes
  from the change at hand;
- ``ci`` draws a quarter, and also the same examples in every run; `.ci/run` has half an hour;
- ``deep`` draws whole budgets, and also the same examples in every run;
- ``thorough`` draws other examples in every run, prints how to repeat a find, and looks for much longer where a budget
  says so.

A budget is read while a test module is imported, before hypothesis sees the test. Only test modules may import this
one: `tests/selection.py` knows by that import which tests a deep run changes.
"""

from __future__ import annotations

import os

__all__ = ["BY_DEFAULT", "LEAST", "PROFILE", "SHARES", "examples"]

SHARES = {"quick": 20, "ci": 4, "deep": 1, "thorough": 1}
"""The profiles. Each draws one example of so many."""

BY_DEFAULT = 100
"""The budget of a test that names none; hypothesis' own default."""

LEAST = 5
"""What every run draws of a small budget: hypothesis begins with the simplest examples, and they find most faults."""


def _profile() -> str:
    chosen = os.environ.get("HYPOTHESIS_PROFILE") or "quick"
    if chosen not in SHARES:
        raise ValueError(f"HYPOTHESIS_PROFILE={chosen} is no profile: choose one of {', '.join(SHARES)}")
    return chosen


PROFILE = _profile()
"""The profile of this run."""


def examples(budget: int, *, least: int = LEAST, thorough: int | None = None, profile: str = PROFILE) -> int:
    """Return how many examples, or rounds of a loop over seeds, this run draws.

    Args:
        budget: The number in a deep run.
        least: The smallest number that shows what the test asserts.
        thorough: The number in a thorough run, where it differs.
        profile: Whose number; that of this run unless a test of this function says otherwise.
    """
    if profile == "thorough" and thorough is not None:
        return thorough
    return min(budget, max(least, budget // SHARES[profile]))
