"""The messages of a window: its trajectories, then the windows message, which commits them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from core.models.common.plan import ALGORITHMS
from core.records.instants import rfc3339
from core.release.outcome import SCHEMA, Outcome, Release
from stream.formats.release.encoding import Content, ReleaseEncoding, positions_of
from stream.formats.release.json import JSON

__all__ = ["OutMessage", "outcome_messages"]


class OutMessage(NamedTuple):
    """One message of a release."""

    topic: str
    """``anonymized`` or ``windows``: the setting that names the topic."""

    key: bytes
    value: bytes
    timestamp_ms: int


def outcome_messages(outcome: Outcome, encoding: ReleaseEncoding = JSON) -> Iterator[OutMessage]:
    """Encode the messages of a window: its trajectories, then the windows message, which commits them.

    The bytes depend on the outcome, the encoding and the algorithms' versions alone, so a window emitted again is
    identical.
    """
    key = outcome.key
    head: Content = {
        "schema": SCHEMA,
        "release": outcome.release_id,
        "window": [rfc3339(key.start_ms), rfc3339(key.end_ms)],
        "shard": key.shard,
    }
    window = head | _window_content(outcome) | {"versions": ALGORITHMS}
    if isinstance(outcome, Release):
        positions = positions_of(window)
        for i, trajectory in enumerate(outcome.trajectories):
            value = encoding.trajectory(head | trajectory.content(), positions)
            yield OutMessage("anonymized", f"{outcome.release_id}:{i}".encode(), value, key.end_ms)
    yield OutMessage("windows", outcome.release_id.encode(), encoding.window(window), key.end_ms)


def _window_content(outcome: Outcome) -> dict[str, object]:
    common = {"kind": outcome.key.kind, "model": outcome.model, "parameters": outcome.parameters}
    if not isinstance(outcome, Release):
        return common | {"outcome": "withheld", "reason": outcome.reason, "verified": False}
    content: dict[str, object] = common | {
        "outcome": "released",
        "verified": True,
        **outcome.counts,
        "information_loss": outcome.information_loss,
    }
    if outcome.locations is not None:
        content["locations"] = [
            {"members": place.members, "lat": place.lat_deg, "lon": place.lon_deg}
            | ({"sensitive": True} if place.sensitive else {})
            | ({} if place.radius_m is None else {"radius_m": place.radius_m})
            for place in outcome.locations
        ]
    return content
