"""The tables of a release: their columns, by what its messages are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, NamedTuple

from core.models.registry import FAMILIES, family_of
from stream.formats.release.encoding import COUNTS, Content

__all__ = ["ColumnType", "TableColumn", "anonymized_columns", "column_types", "location_columns", "window_columns"]

ColumnType = Literal["text", "whole", "number", "flag", "instant", "texts", "json"]


class TableColumn(NamedTuple):
    """One column of a table."""

    name: str
    type: ColumnType
    """``texts`` is a list of texts; ``json`` are names with values."""


_HEAD = (
    TableColumn("release", "text"),
    TableColumn("window_start", "instant"),
    TableColumn("window_end", "instant"),
    TableColumn("shard", "text"),
)
_POSITION = (TableColumn("lat", "number"), TableColumn("lon", "number"))
_TRAJECTORY = (TableColumn("trajectory", "text"), TableColumn("seq", "whole"))
_MEMBERS = TableColumn("members", "texts")
_FLOW = (
    *(TableColumn("origin", "text"), TableColumn("destination", "text")),
    *(TableColumn("people", "whole"), TableColumn("trips", "whole")),
    *(TableColumn("destination_lat", "number"), TableColumn("destination_lon", "number")),
)
_GROUP = (
    *(
        TableColumn("group", "whole"),
        TableColumn("cluster", "whole"),
        TableColumn("cluster_end", "whole"),
        TableColumn("people", "whole"),
    ),
    *(TableColumn("chunk_kind", "text"), TableColumn("chunk", "whole"), TableColumn("subrecord", "whole")),
)


def anonymized_columns(model: str, example: Content | None) -> tuple[TableColumn, ...]:
    """Return the columns of the table ``anonymized``.

    Args:
        model: The model of the releases.
        example: One of the messages, which names the attributes of a person; None if nothing was released.
    """
    fields = family_of(model).released.properties
    if "points" in fields:
        own: Iterable[TableColumn] = (*_TRAJECTORY, TableColumn("time", "instant"))
    elif "visits" in fields:
        values = (TableColumn("sensitive", "texts"), TableColumn("one_of", "texts"))
        own = (*_TRAJECTORY, TableColumn("slot", "text"), _MEMBERS, *values)
    elif "clusters" in fields:
        own = (*_GROUP, _MEMBERS)
    elif "origin" in fields:
        own = _FLOW  # lat and lon are the origin's
    elif "attributes" in fields:
        attributes = {} if example is None else example["attributes"]
        own = (*_TRAJECTORY, _MEMBERS, TableColumn("sensitive", "flag"), *_attribute_columns(attributes))
    else:
        own = (*_TRAJECTORY, _MEMBERS)
    return (*_HEAD, *own, *_POSITION)


def _attribute_columns(attributes: Content) -> Iterable[TableColumn]:
    for name, value in attributes.items():
        if isinstance(value, str):
            yield TableColumn(f"attribute_{name}", "text")
        else:
            yield TableColumn(f"attribute_{name}_least", "number")
            yield TableColumn(f"attribute_{name}_most", "number")


def window_columns(model: str) -> tuple[TableColumn, ...]:
    """Return the columns of the table ``windows``."""
    return (
        *_HEAD,
        *(TableColumn(name, "text") for name in ("kind", "model", "outcome", "reason")),
        TableColumn("verified", "flag"),
        TableColumn("k", "whole"),
        *(TableColumn(name, "whole") for name in COUNTS),
        *(TableColumn(f"loss_{name}", "number") for name in family_of(model).figures),
        TableColumn("parameters", "json"),
        TableColumn("versions", "json"),
    )


def location_columns() -> tuple[TableColumn, ...]:
    """Return the columns of the table ``locations``."""
    return (*_HEAD, _MEMBERS, TableColumn("sensitive", "flag"), TableColumn("radius_m", "number"), *_POSITION)


def column_types(names: Sequence[str]) -> list[ColumnType]:
    """Return the types of the columns of a table, given their names, whatever its model is.

    Raises:
        KeyError: No table has such a column.

    >>> column_types(["members", "attribute_age_least", "attribute_age_most", "attribute_plan"])
    ['texts', 'number', 'number', 'text']
    """
    return [_type_of(name, names) for name in names]


def _type_of(name: str, names: Sequence[str]) -> ColumnType:
    if name.startswith("loss_"):
        return "number"
    if name.startswith("attribute_"):
        ends = {f"{name.rpartition('_')[0]}_{end}" for end in ("least", "most")}
        return "number" if name in ends and ends <= set(names) else "text"
    if name == "sensitive":  # values of a person's visits, or whether a location is sensitive
        return "texts" if "slot" in names else "flag"
    return _types()[name]


@cache
def _types() -> dict[str, ColumnType]:
    models = [family.models[0] for family in FAMILIES]
    tables = [location_columns(), *map(window_columns, models), *(anonymized_columns(model, None) for model in models)]
    return {column.name: column.type for table in tables for column in table}
