"""The messages of a release from its flat rows: the other direction of :mod:`stream.formats.release.rows`.

Everything that a message states is in its rows but ``schema``, a figure that is null, and an empty chunk of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from stream.formats.release.encoding import COUNTS, Content
from stream.formats.release.rows import ReleaseRow

__all__ = ["trajectories_of_rows", "window_of_rows"]


def trajectories_of_rows(rows: Iterable[ReleaseRow]) -> Iterator[Content]:
    """Yield the messages of ``anonymized``; the rows of a message are adjacent.

    Raises:
        KeyError: A row lacks a column.
    """
    for _, group in groupby(rows, key=_message_of):
        of_message = list(group)
        yield _head(of_message[0]) | _stated(of_message)


def window_of_rows(row: ReleaseRow, locations: Iterable[ReleaseRow]) -> Content:
    """Return the message of ``windows``.

    Args:
        row: Of the table ``windows``.
        locations: The rows of its release in the table ``locations``.

    Raises:
        KeyError: A row lacks a column.
    """
    is_released = row["outcome"] == "released"
    names = ("kind", "model", "outcome", "reason", "verified", "parameters", "versions", *COUNTS)
    content = _head(row) | {
        name: row[name] for name in names if row.get(name) is not None or (is_released and name in COUNTS)
    }
    if is_released:
        content["information_loss"] = _named(row, "loss_")
        places = [_place(one) for one in locations]
        if places:
            content["locations"] = places
    return content


def _message_of(row: ReleaseRow) -> tuple[Any, ...]:
    if "origin" in row:
        return row["release"], row["origin"], row["destination"]
    return row["release"], row["group"] if "group" in row else row["trajectory"]


def _head(row: ReleaseRow) -> Content:
    return {"release": row["release"], "window": [row["window_start"], row["window_end"]], "shard": row["shard"]}


def _stated(rows: list[ReleaseRow]) -> Content:
    first = rows[0]
    if "origin" in first:
        return {name: first[name] for name in ("origin", "destination", "people", "trips") if first[name] is not None}
    if "group" in first:
        return _group(rows)
    whose = {"pseudonym": first["trajectory"]}
    if "time" in first:
        return whose | {"points": [[row["time"], row["lat"], row["lon"]] for row in rows]}
    if "slot" in first:
        values = {name: first[name] for name in ("sensitive", "one_of") if first[name] is not None}
        return whose | {"visits": [[row["slot"], row["members"][0]] for row in rows]} | values
    if "sensitive" in first:
        return whose | _with_attributes(rows)
    return whose | {"locations": [row["members"] for row in rows]}


def _with_attributes(rows: list[ReleaseRow]) -> Content:
    """A person without locations has one row, without a number."""
    placed = [row for row in rows if row["seq"] is not None]
    content: Content = {
        "attributes": _attributes(rows[0]),
        "locations": [row["members"] for row in placed if not row["sensitive"]],
    }
    sensitive = [row["members"][0] for row in placed if row["sensitive"]]
    return content | ({"sensitive": sensitive} if sensitive else {})


def _attributes(row: ReleaseRow) -> Content:
    values = _named(row, "attribute_")
    for least in [name for name in values if name.endswith("_least")]:
        name = least.removesuffix("_least")
        if f"{name}_most" in values:
            values[name] = [values.pop(least), values.pop(f"{name}_most")]
    return values


def _group(rows: list[ReleaseRow]) -> Content:
    clusters: dict[int, Content] = {}
    joints: dict[tuple[int, int], list[list[list[str]]]] = {}
    for row in rows:
        number, kind = row["cluster"], row["chunk_kind"]
        if kind == "shared":
            chunks = joints.setdefault((number, row["cluster_end"]), [])
        else:
            cluster = clusters.setdefault(number, {"size": row["people"], "record_chunks": [], "term_chunk": []})
            if kind == "term":
                cluster["term_chunk"] += row["members"]
                continue
            chunks = cluster["record_chunks"]
        _at(_at(chunks, row["chunk"]), row["subrecord"]).extend(row["members"])
    return {
        "clusters": [clusters[number] for number in sorted(clusters)],
        "joint_clusters": [
            {"first": first, "end": end, "shared_chunks": chunks} for (first, end), chunks in joints.items()
        ],
    }


def _at(lists: list[Any], number: int) -> Any:
    """Return one of some lists, of which there are as many as it needs."""
    lists += [[] for _ in range(number + 1 - len(lists))]
    return lists[number]


def _place(row: ReleaseRow) -> Content:
    place = {"members": row["members"], "lat": row["lat"], "lon": row["lon"]}
    if row["sensitive"]:
        place["sensitive"] = True
    return place | ({} if row["radius_m"] is None else {"radius_m": row["radius_m"]})


def _named(row: ReleaseRow, prefix: str) -> Content:
    return {
        name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix) and value is not None
    }
