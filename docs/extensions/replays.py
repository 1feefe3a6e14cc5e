"""Messages for the reference: what `shoal replay` writes of a small invented feed, under every model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core.models.registry import family_of
from core.records.instants import rfc3339
from core.records.record import Kind, Rejected, Source
from stream.feeds.feed import Feed
from stream.feeds.record_files import open_files
from stream.formats.dead_letters import dead_letter
from stream.formats.input.mapping import MappingOptions, Unreadable
from stream.formats.input.messages import MessageReader
from stream.replay.replay import Replay
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.settings.privacy import PrivacySettings

__all__ = ["Messages", "dead_letter_example", "records", "replayed", "shared_settings"]

Json = dict[str, Any]

_SECRET = "an example, not a secret"  # noqa: S105 - of no deployment
_START_S = 1_782_885_600  # 2026-07-01T06:00:00Z
_NOW_MS = (_START_S + 2 * 86_400) * 1000
_PLANS = "category,parent\nany,\npaid,any\nplus,paid\ngold,paid\nbasic,any\n"
_ROUTES = ("11 12 22", "11 12 23", "41 42 32", "41 32 22", "33 34 44", "33 44 45")
"""Rows and columns of the grid's cells that people pass through."""

_SHARED: Json = {
    "release.withheld": "announced",
    "window.size": "12h",
    "location.area": "52.4,13.2,52.6,13.5",
    "location.cells": "6x6",
}
_SENSITIVE: Json = {"sensitive_locations": ["r5c5"]}
_WITH_ATTRIBUTES: Json = _SENSITIVE | {"max_loss": 1, "m": 1}
_OF_MODEL: dict[str, Json] = {
    "u-seqanon": {"constraints": "level:1", "suppression_percent": 60},
    "coat": {"constraints": "level:1", "suppression_percent": 60},
    "pcta": {"constraints": "level:1", "suppression_percent": 60},
    "lm-anon": _SENSITIVE,
    "zga": _SENSITIVE,
    "sga": _SENSITIVE,
    "lkc": {
        "sensitive_field": "condition",
        "sensitive_values": ["asthma", "diabetes"],
        "time_slot": "6h",
        "slots_of": "day",
    },
    "disassociation": _SENSITIVE,
    "rum-bound": _WITH_ATTRIBUTES,
    "tum-bound": _WITH_ATTRIBUTES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """The messages of a replay, in their order."""

    anonymized: list[Json]
    windows: list[Json]


def records(kind: Kind) -> list[Json]:
    """Return the records of the feed: 60 people, who visit three or four places or walk one of six ways."""
    chance = random.Random(1)  # noqa: S311 - nothing secret
    made = _check_ins(chance) if kind is Kind.CHECKINS else _fragments(chance)
    return sorted(made, key=lambda record: str(record["ts"] if kind is Kind.CHECKINS else record["points"][0][0]))


@cache
def replayed(model: str) -> Messages:
    """Replay the feed under a model."""
    kind: Kind = family_of(model).kind
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plans.csv").write_text(_PLANS, encoding="utf-8")
        feed_file = folder / f"{kind}.ndjson"
        feed_file.write_text("".join(json.dumps(record) + "\n" for record in records(kind)), encoding="utf-8")
        given: Json = {"model": model} | _OF_MODEL.get(model, {})
        if _OF_MODEL.get(model) is _WITH_ATTRIBUTES:
            given["attributes"] = {"age": "0..120", "plan": str(folder / "plans.csv")}
        settings = shared_settings().model_copy(update={"privacy": PrivacySettings(**given)})
        feed = Feed(settings, kind, secret=_SECRET)
        files = open_files(settings, feed, [feed_file])
        Replay(feed, files, now_ms=_NOW_MS, max_bytes=settings.limits.message_bytes).run(folder)
        for file in files:
            file.close()
        return Messages(anonymized=_lines(folder / "anonymized.ndjson"), windows=_lines(folder / "windows.ndjson"))


@cache
def shared_settings() -> Settings:
    """Return the settings that all examples have in common."""
    return load_settings(given=_SHARED)


def dead_letter_example() -> Json:
    """Return the dead letter of a check-in whose latitude is a text, the second of a list."""
    reader = MessageReader(Kind.CHECKINS, MappingOptions(names=shared_settings().fields.model_dump()))
    good: Json = {"user": "u1", "ts": "2026-07-01T06:00:00Z", "lat": 52.5, "lon": 13.2}
    value = json.dumps([good, good | {"lat": "north"}]).encode()
    ((element, fault),) = [(at, entry) for at, entry in reader.read(value) if isinstance(entry, Unreadable)]
    rejected = Rejected(
        reason=fault.reason, detail=fault.detail, source=Source("checkins", 3), offset=81_723, element=element
    )
    letter: Json = json.loads(dead_letter(Kind.CHECKINS, rejected, "7hUlnVfMTq-5xqOCY0rJZg"))
    return letter


def _check_ins(chance: random.Random) -> Iterator[Json]:
    for person in range(60):
        route = [(int(cell[0]), int(cell[1])) for cell in _ROUTES[person % 6].split()]
        if person % 12 == 0:
            route.append((5, 5))
        elif person in (10, 16, 21):
            route[-1] = (route[-1][0], route[-1][1] + 1)
        traits = {
            "age": 20 + person % 50,
            "plan": ("basic", "plus", "gold")[person % 3],
            "condition": ("none", "none", "none", "asthma", "diabetes")[person % 5],
        }
        # The last person comes a day later, alone: that window is withheld.
        at_s = _START_S + (86_400 if person == 59 else 0) + chance.randrange(1800)
        for row, column in route:
            at_s += 1800 + chance.randrange(3600)
            lat = 52.4 + (row + chance.uniform(0.2, 0.8)) * 0.2 / 6
            lon = 13.2 + (column + chance.uniform(0.2, 0.8)) * 0.3 / 6
            yield {
                "user": f"user-{person}",
                "ts": rfc3339(at_s * 1000),
                "lat": round(lat, 5),
                "lon": round(lon, 5),
                **traits,
            }


def _fragments(chance: random.Random) -> Iterator[Json]:
    for person in range(60):
        way, begin_s = person % 6, _START_S + (86_400 if person == 59 else 0)
        points = []
        for at_s in range(0, 300, 30):
            lat = 52.45 + way * 0.02 + at_s * 1e-5 + chance.uniform(-1, 1) * 5e-4
            lon = 13.3 + chance.uniform(-1, 1) * 5e-4
            points.append([rfc3339((begin_s + at_s) * 1000), round(lat, 5), round(lon, 5)])
        yield {"user": f"user-{person}", "points": points} | ({"k": 6, "delta_m": 400} if person % 10 == 0 else {})


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]
