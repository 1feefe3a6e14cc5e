"""The report of a comparison: one HTML file, for whoever has to answer for the choice of a model and its settings.

It asks no host for anything. It has no id and no position; counts of people and records are rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from math import floor, log10
from pathlib import Path
from typing import Any

from core.models.common.plan import ALGORITHMS
from core.models.common.values import show_duration
from core.models.registry import family_of
from core.records.record import Kind
from stream.formats.input.encodings.extras import needs_extra
from stream.replay.comparison.axes import shown
from stream.replay.comparison.combinations import Combination, Combinations, Reading
from stream.replay.comparison.curves import curves_of
from stream.replay.comparison.frontier_picture import noun_of, panel_name, panels_inline
from stream.replay.comparison.run import ComparisonResults
from stream.replay.comparison.svg import STYLE, new_figure
from stream.replay.comparison.table import ComparisonRow

__all__ = ["approximate", "check_libraries", "report_html"]

_TEMPLATE = Path(__file__).with_name("report.html.jinja")

_MOST_PANELS = 12
"""Most panels of the picture with every model; with more it would be longer than the rest of the report."""

_SECTIONS = ("privacy", "window", "location", "shard", "time", "fields", "input")
"""Sections that decide what is released of which records, for every kind."""

_SECTIONS_OF = {Kind.FRAGMENTS: ("trajectories",), Kind.STOPS: ("stops",)}


def report_html(
    rows: Sequence[ComparisonRow],
    combinations: Combinations,
    results: ComparisonResults,
    paths: Sequence[Path],
    *,
    dated: date,
) -> bytes:
    """Write the report.

    Args:
        rows: The rows of the comparison.
        combinations: What was compared.
        results: What it came to.
        paths: The files of records.
        dated: The date of the report.

    Raises:
        MissingExtraError: matplotlib or Jinja is not installed.
    """
    with needs_extra("report", "Jinja"):
        import jinja2  # noqa: PLC0415 - an extra, loaded only where a report is written
        import markupsafe  # noqa: PLC0415
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)

    def code(text: str) -> Any:
        """Show what is between backticks as code."""
        escaped = str(markupsafe.escape(_without_links(text)))
        return markupsafe.Markup(re.sub(r"`(.*?)`", r"<code>\1</code>", escaped))  # noqa: S704 - escaped before

    environment.filters["code"] = code
    n_models, least = len({row.model for row in rows}), max(row.k for row in rows)
    n = f"{len(rows)} combination{'' if len(rows) == 1 else 's'} of settings"
    varying = [name for name in ("k", "m", "delta_m") if len({getattr(row, name) for row in rows}) > 1]
    varying += [name for name in rows[0].varied if len({row.varied[name] for row in rows}) > 1]
    names = ", ".join(path.name for path in paths)
    is_small = n_models > 1 and len({row.panel for row in rows}) <= _MOST_PANELS
    context: dict[str, Any] = {
        "title": f"{'Comparison' if n_models > 1 else 'Evaluation'} of anonymization: {names}",
        "dated": dated.isoformat(),
        "what": f"{n_models} methods, {n}." if n_models > 1 else f"The method {rows[0].model}, {n}.",
        "style": markupsafe.Markup(STYLE),  # noqa: S704 - ours
        "files": [
            {"name": path.name, "size": path.stat().st_size, "sha256": hashed}
            for path, hashed in zip(paths, combinations.files, strict=True)
        ],
        "least": least,
        "readings": list(_readings(combinations, results, least)),
        "varied": [(axis.name, [shown(value) for value in axis.values]) for axis in combinations.axes],
        "left_out": combinations.left_out,
        "promises": _promises(combinations.all),
        "attention": list(_attention(rows)),
        "results": _results(rows),
        "noun": noun_of(rows),
        "curves": curves_of(rows, varying),
        "panels": panels_inline(rows, prefix="panels") if is_small else "",
        "settings": list(_settings(combinations)),
        "secret": _secret(combinations),
        "versions": _versions(),
    }
    page = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(context)
    return page.encode()


def check_libraries() -> None:
    """Check that a report can be written, before hours of work end without one.

    Raises:
        MissingExtraError: matplotlib or Jinja is not installed.
    """
    new_figure(1, 1)
    with needs_extra("report", "Jinja"):
        import jinja2  # noqa: F401, PLC0415 - see `report_html`


def approximate(count: int, least: int) -> str:
    """Return a count for readers who must not learn of single people: to two digits, or that it is small.

    >>> approximate(0, 10), approximate(7, 10), approximate(12_345, 10)
    ('0', 'fewer than 10', 'about 12,000')
    """
    if count == 0:
        return "0"
    if count < least:
        return f"fewer than {least}"
    unit = 10 ** max(0, floor(log10(count)) - 1)
    return f"about {round(count / unit) * unit:,}"


def _readings(combinations: Combinations, results: ComparisonResults, least: int) -> Iterator[dict[str, object]]:
    """Yield what was read, once for each way of reading."""
    for reading in combinations.readings:
        counts = results.readings.get(reading.digest)
        if counts is None:
            continue
        numbers = (counts.records, counts.rejected, counts.late, counts.people)
        yield {
            "name": _reading_name(reading, combinations),
            "counts": [approximate(number, least) for number in numbers],
            "windows": f"{counts.windows:,}",
        }


def _reading_name(reading: Reading, combinations: Combinations) -> str:
    """Return the values that only this reading has, besides the length of its windows."""
    its = [one.varied for one in combinations.all if one.reading is reading]
    own = [
        f"{name} {shown(value)}"
        for name, value in its[0].items()
        if name.startswith(("location.", "shard.")) and all(one[name] == value for one in its)
    ]
    return ", ".join([f"windows of {show_duration(reading.policy.size_ms)}", *own])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promise:
    models: tuple[str, ...]
    name: str
    words: str
    also: str


def _promises(combinations: Sequence[Combination]) -> list[_Promise]:
    """Return the promises in words; models of one family with one name of a promise stand together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in combinations:
        family = family_of(one.plan.model)
        models = found.setdefault((one.promise, family.promise, family.summaries[one.plan.model].also), [])
        if one.variant not in models:
            models.append(one.variant)
    return [
        _Promise(models=tuple(models), name=name, words=words[0].upper() + words[1:], also=_sentence(also))
        for (name, words, also), models in found.items()
    ]


def _sentence(text: str) -> str:
    """Return text as a sentence, or nothing."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def _without_links(text: str) -> str:
    """Return Markdown with the text of its links alone."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def _attention(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Yield what a reader must not overlook."""
    if unfinished := sum(row.status == "unfinished" for row in rows):
        yield f"{unfinished} of {len(rows)} combinations are not finished: the run ended before."
    for row in rows:
        at = f"{row.model}, {panel_name(row)}"
        if row.status == "failed":
            yield f"{at}: measuring failed; this row has no figures."
        if row.windows_failed:
            yield f"{at}: {row.windows_failed} of {row.windows} windows were withheld because of a failure."
        if row.highest_risk is not None and row.highest_risk > 1 / row.k + 1e-4:
            yield (
                f"{at}: the highest risk is {row.highest_risk:.3f}, above 1/k = {1 / row.k:.3f}: the attack knows more "
                "than the promise covers, or weighs what it knows."
            )
        if row.status == "complete" and row.windows and not row.points_released:
            yield f"{at}: nothing was released."


def _results(rows: Sequence[ComparisonRow]) -> dict[str, object]:
    """Return the table of all rows; its first columns are text, the others numbers."""
    third = "m" if rows[0].m is not None else "delta, m"
    texts = ["Method", "Promise", "Frontier", *rows[0].varied]
    numbers = [
        *("k", third, "Loss, m", "Not released, %", "People lost, %", "Withheld windows", "Highest risk", "1/k"),
        "Highest linkage",
    ]
    cells = []
    for before, row in zip([None, *rows[:-1]], rows, strict=True):
        on = "yes" if row.frontier else "of its promise" if row.frontier_of_promise else "no"
        withheld = "–" if not row.windows else f"{row.windows - row.windows_released:,} of {row.windows:,}"
        text = [row.model, row.promise, on if row.status == "complete" else row.status, *row.varied.values()]
        figures = [
            *(str(row.k), str(row.m) if row.m is not None else f"{row.delta_m:g}"),
            *(_figure(row.distance_m, ",.0f"), _figure(row.unreleased_percent, ".1f")),
            *(_figure(row.people_lost_percent, ".1f"), withheld, _figure(row.highest_risk, ".3f")),
            *(f"{1 / row.k:.3f}", _figure(row.highest_linkage, ".3f")),
        ]
        cells.append({"is_new": before is not None and before.panel != row.panel, "cells": [*text, *figures]})
    return {"columns": [*texts, *numbers], "texts": len(texts), "rows": cells}


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _settings(combinations: Combinations) -> Iterator[tuple[str, str]]:
    """Yield the settings that decide what is released, by dotted name; secrets are masked."""
    kind = combinations.kind
    own = combinations.all[0].reading.settings.for_kind(kind)
    several = [axis for axis in combinations.axes if len(axis.values) > 1]
    varies = {axis.name: ", ".join(shown(value) for value in axis.values) for axis in several}
    dumped: Mapping[str, Any] = own.model_dump(mode="json")
    for section in (*_SECTIONS, *_SECTIONS_OF.get(kind, ())):
        for name, value in dumped[section].items():
            dotted = f"{section}.{name}"
            yield dotted, f"varies: {varies[dotted]}" if dotted in varies else _value(value)


def _value(value: object) -> str:
    return shown(value) if value not in ("", [], {}) else "empty"


def _secret(combinations: Combinations) -> str:
    own = combinations.all[0].reading.settings.for_kind(combinations.kind)
    if own.privacy.secret is not None:
        return "The secret is the one of privacy.secret. It is not in this report, and cannot be found from it."
    return (
        "privacy.secret is not set. The comparison used a secret that is computed from the files, so that another run "
        "gives the same figures. It protects no release, and none was written."
    )


def _versions() -> dict[str, str]:
    libraries = {name: version(name) for name in ("shoal", "matplotlib")}
    return {**libraries, **ALGORITHMS}
