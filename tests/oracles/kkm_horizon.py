"""Slow and obvious versions of what several windows show of a person's attributes: an age and a plan.

The plans are those of :data:`tests.builders.windows.SCHEMA`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.models.kkm.attributes import Interval, Value

Shown = tuple[Value, ...]
"""A generalized age and a generalized plan."""

BELOW = {
    "*": {"*", "basic", "paid", "gold", "plus"},
    "paid": {"paid", "gold", "plus"},
    "basic": {"basic"},
    "gold": {"gold"},
    "plus": {"plus"},
}
"""The plans that a released one may stand for."""


def fitting(shown: Sequence[Shown], told: Mapping[int, tuple[int, str]]) -> set[int]:
    """Return the people whose age and plan are within everything that is shown."""
    return {user for user, (age, plan) in told.items() if all(_fits(age, plan, *one) for one in shown)}


def _fits(age: int, plan: str, ages: Value, plans: Value) -> bool:
    assert isinstance(ages, Interval)
    return ages.low <= age <= ages.high and plan in BELOW[str(plans)]


def is_inside(inner: Shown, outer: Shown) -> bool:
    """Whether everybody who fits the inner values fits the outer ones."""
    (inner_ages, inner_plan), (outer_ages, outer_plan) = inner, outer
    assert isinstance(inner_ages, Interval)
    assert isinstance(outer_ages, Interval)
    within = outer_ages.low <= inner_ages.low and inner_ages.high <= outer_ages.high
    return within and BELOW[str(inner_plan)] <= BELOW[str(outer_plan)]
