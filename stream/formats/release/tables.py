"""The tables of a release: their columns, by what its messages are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from core.models.registry import family_of
from stream.formats.release.encoding import Content

__all__ = ["Column", "anonymized_columns", "location_columns", "window_columns"]

ColumnType = Literal["text", "whole", "number", "flag", "instant", "texts", "json"]


class Column(NamedTuple):
    """One column of a table."""

    name: str
    type: ColumnType
    """``texts`` is a list of texts; ``json`` are names with values."""


_HEAD = (
    Column("release", "text"),
    Column("window_start", "instant"),
    Column("window_end", "instant"),
    Column("shard", "text"),
)
_POSITION = (Column("lat", "number"), Column("lon", "number"))
_TRAJECTORY = (Column("trajectory", "text"), Column("seq", "whole"))
_MEMBERS = Column("members", "texts")
_GROUP = (
    *(Column("group", "whole"), Column("cluster", "whole"), Column("cluster_end", "whole"), Column("people", "whole")),
    *(Column("chunk_kind", "text"), Column("chunk", "whole"), Column("subrecord", "whole")),
)


def anonymized_columns(model: str, example: Content | None) -> tuple[Column, ...]:
    """Return the columns of the table ``anonymized``.

    Args:
        model: The model of the releases.
        example: One of the messages, which names the attributes of a person; None if nothing was released.
    """
    fields = family_of(model).released.properties
    if "points" in fields:
        own: Iterable[Column] = (*_TRAJECTORY, Column("time", "instant"))
    elif "visits" in fields:
        own = (*_TRAJECTORY, Column("slot", "text"), _MEMBERS, Column("sensitive", "texts"))
    elif "clusters" in fields:
        own = (*_GROUP, _MEMBERS)
    elif "attributes" in fields:
        attributes = {} if example is None else example["attributes"]
        own = (*_TRAJECTORY, _MEMBERS, Column("sensitive", "flag"), *_attribute_columns(attributes))
    else:
        own = (*_TRAJECTORY, _MEMBERS)
    return (*_HEAD, *own, *_POSITION)


def _attribute_columns(attributes: Content) -> Iterable[Column]:
    for name, value in attributes.items():
        if isinstance(value, str):
            yield Column(f"attribute_{name}", "text")
        else:
            yield Column(f"attribute_{name}_least", "number")
            yield Column(f"attribute_{name}_most", "number")


def window_columns(model: str) -> tuple[Column, ...]:
    """Return the columns of the table ``windows``."""
    counts = ("population", "people", "trajectories", "points_released", "points_suppressed", "smallest_support")
    return (
        *_HEAD,
        *(Column(name, "text") for name in ("kind", "model", "outcome", "reason")),
        Column("verified", "flag"),
        Column("k", "whole"),
        *(Column(name, "whole") for name in counts),
        *(Column(f"loss_{name}", "number") for name in family_of(model).figures),
        Column("parameters", "json"),
        Column("versions", "json"),
    )


def location_columns() -> tuple[Column, ...]:
    """Return the columns of the table ``locations``."""
    return (*_HEAD, _MEMBERS, Column("sensitive", "flag"), *_POSITION)
