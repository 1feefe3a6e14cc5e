"""ARE of RT: the relative error of COUNT queries over attributes, over locations, and over both (Poulis et al. 2013).

The paper draws 100 queries for "random values and/or sets of 2 items" and leaves the rest open. Settled here: a query
is drawn from a random person of the window, so that no answer is 0. It asks for the person's value of one random
attribute, for two random locations of the person (all, if there are fewer), or for both. Of a release the expected
number is taken: a generalized value is each of its whole numbers or leaves with the same probability, and a generalized
location of ``v`` members each of them with probability ``1 / v``, all of it independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.models.kkm.attributes import Attribute, CategoricalAttribute, Interval, Schema, Value

__all__ = ["RTPerson", "RTQuery", "draw_rt_queries", "rt_query_error", "value_chance"]

_ITEMS = 2


@dataclass(frozen=True, slots=True)
class RTQuery:
    """How many people have a value of an attribute, and visited all of some locations?"""

    attribute: int | None
    """Which attribute of the schema; None if the query does not ask for one."""

    value: Value | None
    """Its value: an interval of length 0, or a node; None likewise."""

    locations: tuple[int, ...]
    """The locations; none if the query does not ask for them."""


@dataclass(frozen=True, slots=True)
class RTPerson:
    """What is known of a person, in a window or a release."""

    values: tuple[Value, ...]
    chances: Mapping[int, float]
    """For each location that may have been visited the probability; 1 in a window."""


def draw_rt_queries(
    people: Sequence[RTPerson], rng: np.random.Generator, *, n: int, attributes: bool, locations: bool
) -> list[RTQuery]:
    """Draw queries; see the module.

    Args:
        people: The window, as it is.
        rng: The only source of randomness.
        n: Number of queries.
        attributes: Whether the queries ask for a value.
        locations: Whether they ask for locations.
    """
    queries = []
    for _ in range(n if people else 0):
        person = people[int(rng.integers(len(people)))]
        attribute = int(rng.integers(len(person.values))) if attributes else None
        asked: tuple[int, ...] = ()
        if locations:
            visited = sorted(person.chances)
            drawn = rng.choice(len(visited), min(_ITEMS, len(visited)), replace=False)
            asked = tuple(visited[i] for i in sorted(drawn.tolist()))
        queries.append(RTQuery(attribute, None if attribute is None else person.values[attribute], asked))
    return queries


def rt_query_error(
    schema: Schema, window: Sequence[RTPerson], released: Sequence[RTPerson], queries: Sequence[RTQuery]
) -> float:
    """Mean relative error of the answers that a release gives.

    Args:
        schema: The attributes.
        window: The people as they are.
        released: The people as they are released; others may be left out.
        queries: Queries drawn from the window.

    Returns:
        The error, at least 0; NaN if there are no queries.
    """
    errors = []
    for query in queries:
        answer = _count(schema, window, query)
        errors.append(abs(answer - _count(schema, released, query)) / answer)
    return float(np.mean(errors)) if errors else float("nan")


def value_chance(attribute: Attribute, value: Value, released: Value) -> float:
    """Return the probability that a person who is released with a generalized value has a value.

    Args:
        attribute: The attribute.
        value: An interval of length 0, or a node.
        released: An interval around it, or a node above it, if the probability is not 0.

    Raises:
        ValueError: A value is not of the attribute's kind.
    """
    if isinstance(attribute, CategoricalAttribute) and isinstance(value, str) and isinstance(released, str):
        hierarchy = attribute.hierarchy
        if value == released:
            below = 1
        elif released in hierarchy.path(value):
            # An inner node may be a value of its own: it is as likely as one leaf.
            below = max(int(hierarchy.leaves[hierarchy.node(released)]), 1)
        else:
            return 0.0
        return 1 / below
    if (
        not isinstance(attribute, CategoricalAttribute)
        and isinstance(value, Interval)
        and isinstance(released, Interval)
    ):
        return 1 / (released.high - released.low + 1) if released.low <= value.low <= released.high else 0.0
    raise ValueError(f"attribute {attribute.name}: a value is of the other kind")


def _count(schema: Schema, people: Sequence[RTPerson], query: RTQuery) -> float:
    chance_of: dict[Value, float] = {}  # people share few values
    total = 0.0
    for person in people:
        chance = 1.0
        if query.attribute is not None and query.value is not None:
            value = person.values[query.attribute]
            if value not in chance_of:
                chance_of[value] = value_chance(schema[query.attribute], query.value, value)
            chance = chance_of[value]
        for location in query.locations:
            chance *= person.chances.get(location, 0.0)
        total += chance
    return total
