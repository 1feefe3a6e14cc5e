"""A release as flat rows: what one message states, for tables.

A row of the table ``anonymized`` is one visit, point or location of a message, or one flow; of ``windows`` one window
and shard; of ``locations`` one generalized location of a release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stream.formats.release.encoding import COUNTS, Content, PlacePositions
from stream.formats.release.places import places_of, subrecords_of

__all__ = ["ReleaseRow", "location_rows", "trajectory_rows", "window_row"]

ReleaseRow = dict[str, Any]
"""Values by the name of their column; a column without a value is missing."""

_FIGURES = ("kind", "model", "outcome", "reason", "verified", *COUNTS, "parameters", "versions")


def trajectory_rows(content: Content, positions: PlacePositions, number: int) -> Iterator[ReleaseRow]:
    """Yield the rows of a message of ``anonymized``.

    Args:
        content: The message.
        positions: Where the generalized locations of its release are.
        number: How many messages of the release come before it.
    """
    head = _head(content)
    if "origin" in content:
        yield head | _flow_row(content, positions)
        return
    for row in _group_rows(content, number) if "clusters" in content else _person_rows(content):
        members = row.get("members")
        if members is not None and (at := positions.get(tuple(members))) is not None:
            row |= {"lat": at[0], "lon": at[1]}
        yield head | row


def window_row(content: Content) -> ReleaseRow:
    """Return the row of a windows message, without its generalized locations."""
    figures = {name: content[name] for name in _FIGURES if name in content}
    losses = {f"loss_{name}": value for name, value in content.get("information_loss", {}).items()}
    return _head(content) | {"k": content["parameters"].get("k")} | figures | losses


def location_rows(content: Content) -> Iterator[ReleaseRow]:
    """Yield the rows of the generalized locations that a windows message describes."""
    head = _head(content)
    for place in content.get("locations", ()):
        yield head | place | {"sensitive": place.get("sensitive", False)}


def _head(content: Content) -> ReleaseRow:
    start, end = content["window"]
    return {"release": content["release"], "window_start": start, "window_end": end, "shard": content["shard"]}


def _person_rows(content: Content) -> Iterator[ReleaseRow]:
    whose = {"trajectory": content["pseudonym"]}
    if "points" in content:
        for seq, (time, lat, lon) in enumerate(content["points"]):
            yield whose | {"seq": seq, "time": time, "lat": lat, "lon": lon}
    elif "visits" in content:
        for seq, (slot, name) in enumerate(content["visits"]):
            values: ReleaseRow = {field: content[field] for field in ("sensitive", "one_of") if field in content}
            yield whose | {"seq": seq, "slot": slot, "members": [name], **values}
    elif "attributes" in content:
        yield from _attribute_rows(whose | _columns_of(content["attributes"]), content)
    else:
        for seq, members in enumerate(content["locations"]):
            yield whose | {"seq": seq, "members": members}


def _flow_row(content: Content, positions: PlacePositions) -> ReleaseRow:
    (lat, lon), (to_lat, to_lon) = (positions[place] for place in places_of(content))
    ends = {"lat": lat, "lon": lon, "destination_lat": to_lat, "destination_lon": to_lon}
    return {name: content[name] for name in ("origin", "destination", "people", "trips") if name in content} | ends


def _attribute_rows(whose: ReleaseRow, content: Content) -> Iterator[ReleaseRow]:
    """Yield a row for each location, in no order of visit; one row for a person without locations."""
    places = [(members, False) for members in content["locations"]]
    places += [([name], True) for name in content.get("sensitive", ())]
    for seq, (members, is_sensitive) in enumerate(places):
        yield whose | {"seq": seq, "members": members, "sensitive": is_sensitive}
    if not places:
        yield whose


def _columns_of(attributes: Content) -> ReleaseRow:
    columns: ReleaseRow = {}
    for name, value in attributes.items():
        if isinstance(value, str):
            columns[f"attribute_{name}"] = value
        else:
            columns[f"attribute_{name}_least"], columns[f"attribute_{name}_most"] = value
    return columns


def _group_rows(content: Content, number: int) -> Iterator[ReleaseRow]:
    for one in subrecords_of(content):
        row: ReleaseRow = {"group": number} | one._asdict()
        del row["names"]
        for name in one.names:
            yield row | {"members": [name]}
