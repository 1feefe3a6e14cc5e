"""What ``shoal try`` prints for people."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from stream.feeds.trial.findings import Findings
from stream.feeds.trial.search import Proposal
from stream.feeds.trial.trial import Trial

__all__ = ["as_set_options", "as_yaml", "report"]

_WIDTH = 100
_MOST_FAULTS = 8


def report(trial: Trial) -> str:
    """Return the report of a trial, several lines."""
    return "\n".join(_lines(trial))


def _lines(trial: Trial) -> Iterator[str]:
    found = trial.in_force
    also = "" if trial.also is None else f" (--kind {trial.also.value} is possible as well)"
    yield f"{trial.source}: {trial.form}, read as {found.kind.value}{also}"
    for looks, n in trial.looks.items():
        yield f"  {n} messages look like {looks}"
    if found.refusal is not None:
        yield from _wrapped(found.refusal.removeprefix(f"{trial.source}: "), "  ")
    yield ""
    yield from _counts(found)
    yield from _fields(found)
    if trial.proposal is not None:
        yield from _proposed(trial.proposal)
    elif not found.is_all_understood:
        yield ""
        yield from _wrapped(
            "no settings are known that read more of it"
            + (
                ""
                if found.understood
                else ": the documentation, Reading your feed, says how fields.* and input.* are set"
            ),
            "",
        )
    for remark in trial.remarks:
        yield from _wrapped(remark, "  ")
    others = [one for one in trial.presets if trial.proposal is None or one["preset"] != trial.proposal.preset]
    if others:
        shown = ", ".join(f"{one['preset']} ({one['understood']} of {one['read']})" for one in others)
        yield ""
        yield from _wrapped(f"presets that also read some of it: {shown}", "")


def _counts(found: Findings) -> Iterator[str]:
    yield (
        f"records: {found.read} looked at, {found.understood} understood"
        + (f" ({found.people} people, {found.points} places)" if found.understood else "")
        + f", {found.rejected} rejected"
        + (f", {found.filtered} filtered" if found.filtered else "")
        + _tombstones(found, before=", ")
    )
    yield from _faults(found)


def _faults(found: Findings) -> Iterator[str]:
    """Yield the faults with most records, and how many others there are."""
    for one in found.rejections[:_MOST_FAULTS]:
        yield from _wrapped(f"{one.records} {one.reason.value}: {one.detail} (first: {one.place})", "  ")
    if (more := len(found.rejections) - _MOST_FAULTS) > 0:
        yield f"  and {more} other faults"


def _tombstones(found: Findings, *, before: str = "", after: str = "") -> str:
    n = found.tombstones
    return f"{before}{n} tombstone{'s' * (n > 1)}{after}" if n else ""


def _fields(found: Findings) -> Iterator[str]:
    if not found.fields:
        return
    yield ""
    n = found.understood + found.rejected
    rows = [
        (one.field, one.path, f"{one.records} of {max(n, one.records)}", ", ".join(one.types) or "-")
        for one in found.fields
    ]
    heads = ("field", "path", "records", "type")
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(3)]
    for row in (heads, *rows):
        yield "  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])


def _proposed(proposal: Proposal) -> Iterator[str]:
    yield ""
    found = proposal.findings
    if found is None:
        yield "proposed:"
    else:
        chosen = " when they are complete" if proposal.needs else ""
        people = "" if "fields.user" in proposal.needs else f"{found.people} people, "
        others = f"{found.filtered} filtered, " + _tombstones(found, after=", ")
        yield (
            f"proposed settings; they read {found.understood} of {found.read} records{chosen}"
            f" ({people}{found.points} places; {others}{found.rejected} rejected):"
        )
    yield ""
    yield (
        textwrap.indent(as_yaml(proposal.settings), "    ")
        if proposal.settings
        else "    (none but what is said below)"
    )
    if proposal.settings:
        yield "or"
        yield ""
        yield "    " + as_set_options(proposal.settings, between=" \\\n    ")
    for sentence in proposal.needs.values():
        yield ""
        yield from _wrapped(f"you must choose: {sentence}", "")
    for remark in proposal.remarks:
        yield ""
        yield from _wrapped(remark, "")
    if found is not None and found.rejections:
        yield ""
        yield "what they would reject:"
        yield from _faults(found)


def as_yaml(settings: Mapping[str, Any]) -> str:
    """Return settings by dotted name as sections of a settings file.

    >>> print(as_yaml({"checkins.input.preset": "gpx"}), end="")
    checkins:
      input:
        preset: gpx
    """
    nested: dict[str, Any] = {}
    for dotted, value in settings.items():
        *sections, name = dotted.split(".")
        at = nested
        for section in sections:
            at = at.setdefault(section, {})
        at[name] = value
    return yaml.safe_dump(nested, sort_keys=False, allow_unicode=True, default_flow_style=False)


def as_set_options(settings: Mapping[str, Any], *, between: str = " ") -> str:
    """Return settings as ``--set`` options of a shell.

    Args:
        settings: Values by dotted name.
        between: What stands between the options.

    >>> print(as_set_options({"checkins.fields.ts": "# Timestamp", "checkins.input.numbers_as_text": True}))
    --set 'checkins.fields.ts="# Timestamp"' --set checkins.input.numbers_as_text=true
    """
    return between.join(f"--set {shlex.quote(f'{name}={_written(value)}')}" for name, value in settings.items())


def _written(value: Any) -> str:
    if isinstance(value, str):
        try:
            if yaml.safe_load(value) == value:
                return value
        except yaml.YAMLError:
            pass
    return json.dumps(value, ensure_ascii=False)


def _wrapped(text: str, indent: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  " if indent else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
