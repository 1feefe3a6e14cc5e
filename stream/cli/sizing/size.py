"""``shoal size``: how many workers, cores, memory and partitions a feed needs, and what its topics store."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import click
import yaml

from core.models.common.values import show_duration
from core.models.registry import FAMILIES, family_of, models_of
from core.records.record import Kind
from stream.cli.options import DURATION, INPUT_KIND, load_given, with_settings
from stream.cli.sizing.explain import Sized, as_json, as_text, as_values
from stream.cli.sizing.figures import Figures
from stream.cli.sizing.fleet import Load, Measured, size_fleet
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings
from stream.settings.model import Settings

__all__ = ["size"]

_REJECTED = 1.0


@click.command()
@click.option(
    "--records-per-second",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    required=True,
    help="Check-ins, or points of fragments, in the busiest hours.",
)
@click.option("--people", type=click.IntRange(min=1, max=10**10), required=True, help="Different people in one window.")
@click.option("--window", type=DURATION, help="Length of a window, such as 15m; by default window.size.")
@click.option(
    "--model",
    type=click.Choice([model for family in FAMILIES for model in family.models]),
    help="The privacy model; by default privacy.model of the settings.",
)
@click.option("--kind", type=INPUT_KIND, help="The kind of feed; by default that of the model, or check-ins.")
@click.option(
    "--shards",
    type=click.IntRange(min=1, max=100_000),
    help="Number of shards; by default that of the settings if they name shard.kind, otherwise as few as the load "
    "allows. Give it for regions: how many have most of the records.",
)
@click.option(
    "--rejected",
    type=click.FloatRange(min=0, max=100),
    default=_REJECTED,
    show_default=True,
    help="Percentage of the records that are rejected.",
)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@click.option("--values", "is_values", is_flag=True, help="Print values of the Helm chart.")
@with_settings
def size(
    records_per_second: float,
    people: int,
    window: int | None,
    model: str | None,
    kind: str | None,
    shards: int | None,
    rejected: float,
    is_json: bool,
    is_values: bool,
    config: Path | None,
    given: tuple[str, ...],
) -> None:
    """Compute the workers, cores, memory, partitions and topics' bytes of a feed.

    It computes from figures that come with Shoal: one run of `make bench-size`, whose date, machine and versions are
    printed with the result. What is not given comes from the settings. No cluster is asked.
    """
    if is_json and is_values:
        raise click.UsageError("--json and --values exclude each other: choose one")
    if math.isnan(records_per_second) or math.isnan(rejected):
        raise click.UsageError("--records-per-second and --rejected take numbers, and nan is none")
    settings = load_given(config, given)
    chosen = _kind(kind, model, settings)
    own = settings.for_kind(chosen)
    load = Load(
        records_per_s=records_per_second,
        people=people,
        window_s=(window or own.window.size) / 1000,
        lateness_s=own.window.allowed_lateness / 1000,
        rejected=rejected / 100,
        shards=shards or _shards(own),
        processes=settings.worker.processes,
    )
    named, figures = model or own.privacy.model or models_of(chosen)[0], Figures.packaged()
    measured = Measured.of(named, figures)
    fleet = size_fleet(load, measured)
    sized = Sized(
        kind=chosen.value,
        model=named,
        shard_kind="region" if own.shard.kind == "region" else "single" if fleet.shards == 1 else "user",
        load=load,
        measured=measured,
        origin=figures.origin,
        fleet=fleet,
    )
    if is_values:
        click.echo(f"# {_command(sized, shards, rejected, config, given)}")
        click.echo(yaml.safe_dump(as_values(sized), sort_keys=False).rstrip())
    elif is_json:
        click.echo(json.dumps(as_json(sized), indent=2))
    else:
        click.echo("\n".join(as_text(sized)))


def _command(sized: Sized, shards: int | None, rejected: float, config: Path | None, given: tuple[str, ...]) -> str:
    """Return the command that prints the same values."""
    load = sized.load
    words = ["shoal", "size", "--records-per-second", f"{load.records_per_s:.10g}", "--people", str(load.people)]
    words += ["--window", show_duration(round(load.window_s * 1000)), "--model", sized.model]
    words += ["--shards", str(shards)] if shards is not None else []
    words += ["--rejected", f"{rejected:.10g}"] if rejected != _REJECTED else []
    words += ["--config", str(config)] if config is not None else []
    words += [word for pair in given for word in ("--set", pair)]
    return shlex.join([*words, "--values"])


def _kind(kind: str | None, model: str | None, settings: Settings) -> Kind:
    """Return the kind of feed to size.

    Raises:
        SettingsError: The model is for another kind.
    """
    if model is None:
        released = [one for one in settings.kinds if one is not Kind.STOPS]
        return Kind(kind) if kind else released[0] if len(released) == 1 else Kind.CHECKINS
    of_model = family_of(model).kind
    if kind is not None and Kind(kind) is not of_model:
        raise SettingsError(f"--model {model} is for {of_model}: {kind} allow {', '.join(models_of(Kind(kind)))}")
    return of_model


def _shards(own: KindSettings) -> int | None:
    """Return the number of shards that the settings name; None if they name none."""
    if own.shard.kind == "user":
        return own.shard.cohorts
    if own.shard.kind == "region":
        raise SettingsError("shard.kind is region: give --shards, the number of regions that have most of the records")
    return 1 if "kind" in own.shard.model_fields_set else None
