"""Presets of envelopes around the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

from stream.formats.presets.preset import Example, Preset

__all__ = ["ENVELOPES"]

_NAMES = (
    "The columns of the table are the fields: set `fields.*` if they are not named user, ts, lat and lon, and "
    "`time.unit` if times are numbers"
)

ENVELOPES: Mapping[str, Preset] = {
    "debezium": Preset(
        title="Debezium, changes of a table: whole events, and flattened ones",
        known_by="payload.op|op|payload.after|after|payload.__deleted|__deleted|payload.__op|__op",
        note=(
            f"{_NAMES} (`us` for PostgreSQL's `timestamp`, `ms` for MySQL's `datetime`). Deletions are counted "
            "as tombstones, and change nothing that was read before."
        ),
        settings={
            "input": {
                "records": "payload.after|after|payload|/",
                "only": ("__deleted!=true", "/payload.op|/op!=t|m"),
                "numbers_as_text": True,
            },
        },
        examples=(
            Example(
                file="changes.ndjson",
                content={
                    "before": None,
                    "after": {"id": 7, "user": "p01", "lat": 48.2082, "lon": 16.3738, "ts": "2025-10-09T08:53:20Z"},
                    "source": {"connector": "postgresql"},
                    "op": "c",
                    "ts_ms": 1760000000999,
                },
            ),
            Example(
                file="flat.ndjson",
                content={
                    "id": 7,
                    "user": "p01",
                    "lat": "48.2082",
                    "lon": "16.3738",
                    "ts": "2025-10-09T08:53:20Z",
                    "__deleted": "false",
                },
            ),
        ),
    ),
    "connect-json": Preset(
        title="Kafka Connect, JsonConverter with schemas (`schema` and `payload`)",
        known_by="schema",
        note=f"{_NAMES} (`ms` for Connect's `Timestamp`).",
        settings={"input": {"records": "payload"}},
        examples=(
            Example(
                file="connect.ndjson",
                content={
                    "schema": {"type": "struct", "optional": False, "fields": []},
                    "payload": {"user": "p01", "lat": 48.2082, "lon": 16.3738, "ts": 1760000000},
                },
            ),
        ),
    ),
}
