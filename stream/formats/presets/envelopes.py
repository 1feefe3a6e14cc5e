"""Presets of envelopes around the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

from stream.formats.presets.preset import Example, Preset

__all__ = ["ENVELOPES"]

_NAMES = (
    "The columns of the table are the fields: set `fields.*` if they are not named user, ts, lat and lon, and "
    "`time.unit` if times are numbers"
)

_NO_DELETIONS = "Deleted rows are skipped, and change nothing that was read before."

ENVELOPES: Mapping[str, Preset] = {
    "debezium": Preset(
        title="Debezium, changes of a table: whole events, and flattened ones",
        known_by="payload.op|op|payload.after|after|payload.__deleted|__deleted|payload.__op|__op",
        note=(
            f"{_NAMES} (`us` for PostgreSQL's `timestamp`, `ms` for MySQL's `datetime`; with schemas in the messages "
            "it does not matter). Without schemas, decimals need `decimal.handling.mode` `string` or `double`. "
            "Deletions are counted as tombstones, and change nothing that was read before."
        ),
        settings={
            "input": {
                "records": "payload.after|after|payload|/",
                "only": ("__deleted!=true", "__op!=d|t|m", "/payload.op|/op!=t|m"),
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
                file="mongodb.ndjson",
                content={
                    "before": None,
                    "after": '{"user": "p01", "lat": 48.2082, "lon": 16.3738, "ts": "2025-10-09T08:53:20Z"}',
                    "op": "c",
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
    "maxwell": Preset(
        title="Maxwell's daemon, changes of tables of MySQL",
        known_by="xid|commit",
        note=f"{_NAMES}. {_NO_DELETIONS}",
        settings={
            "input": {
                "records": "data|/",
                "only": ("/type=insert|update|bootstrap-insert",),
                "numbers_as_text": True,
            },
        },
        examples=(
            Example(
                file="maxwell.ndjson",
                content={
                    "database": "fleet",
                    "table": "positions",
                    "type": "insert",
                    "ts": 1760000001,
                    "xid": 23396,
                    "commit": True,
                    "data": {"id": 7, "user": "p01", "lat": 48.2082, "lon": 16.3738, "ts": "2025-10-09T08:53:20Z"},
                },
            ),
        ),
    ),
    "canal": Preset(
        title="Canal, changes of tables of MySQL as flat messages; TiCDC's `canal-json`",
        known_by="isDdl",
        note=f"{_NAMES}. {_NO_DELETIONS}",
        settings={
            "input": {"records": "data|/", "only": ("/type=INSERT|UPDATE",), "numbers_as_text": True},
        },
        examples=(
            Example(
                file="canal.ndjson",
                content={
                    "data": [
                        {"id": "7", "user": "p01", "lat": "48.2082", "lon": "16.3738", "ts": "2025-10-09T08:53:20Z"}
                    ],
                    "database": "fleet",
                    "es": 1760000001000,
                    "isDdl": False,
                    "old": None,
                    "table": "positions",
                    "type": "INSERT",
                },
            ),
        ),
    ),
    "aws-dms": Preset(
        title="AWS Database Migration Service, changes of tables",
        known_by="metadata.record-type",
        note=f"{_NAMES}. {_NO_DELETIONS}",
        settings={
            "input": {
                "records": "data|/",
                "only": ("/metadata.operation=load|insert|update",),
                "numbers_as_text": True,
            },
        },
        examples=(
            Example(
                file="dms.ndjson",
                content={
                    "data": {"id": 7, "user": "p01", "lat": 48.2082, "lon": 16.3738, "ts": "2025-10-09T08:53:20Z"},
                    "metadata": {
                        "timestamp": "2025-10-09T08:53:21.5Z",
                        "record-type": "data",
                        "operation": "insert",
                        "table-name": "positions",
                    },
                },
            ),
        ),
    ),
    "goldengate": Preset(
        title="Oracle GoldenGate, changes of tables: its JSON with `before` and `after`, and its JSON of rows",
        known_by="op_type",
        note=f"{_NAMES}. {_NO_DELETIONS}",
        settings={
            "input": {"records": "after|/", "only": ("/op_type!=D|T",), "numbers_as_text": True},
        },
        examples=(
            Example(
                file="goldengate.ndjson",
                content={
                    "table": "FLEET.POSITIONS",
                    "op_type": "I",
                    "op_ts": "2025-10-09 08:53:21.000000",
                    "pos": "00000000000000001956",
                    "after": {"id": 7, "user": "p01", "lat": 48.2082, "lon": 16.3738, "ts": "2025-10-09T08:53:20Z"},
                },
            ),
        ),
    ),
    "connect-json": Preset(
        title="Kafka Connect, JsonConverter with schemas (`schema` and `payload`)",
        known_by="schema",
        note=f"{_NAMES} whose schema does not say that they are times.",
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
