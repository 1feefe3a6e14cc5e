"""``shoal check-config`` and ``shoal secret``."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from stream.cli.advice import advice
from stream.cli.options import load_given, with_settings
from stream.feeds.feed import build_feeds
from stream.settings.secret import new_secret

__all__ = ["check_config", "print_secret"]


@click.command(name="check-config")
@with_settings
def check_config(config: Path | None, given: tuple[str, ...]) -> None:
    """Check the settings as a worker does, and print them.

    Secrets are masked. The exit code is 0 if all settings are valid, and 2 if not. Notes say what valid settings do not
    promise.
    """
    settings = load_given(config, given)
    click.echo(yaml.safe_dump(settings.masked(), sort_keys=False).rstrip())
    feeds = build_feeds(settings.checked())
    for note in advice(settings, {kind: feed.plan for kind, feed in feeds.items()}):
        click.echo(f"# note: {note}", err=True)
    click.echo("# all settings are valid", err=True)


@click.command(name="secret")
def print_secret() -> None:
    """Print a new random secret for privacy.secret.

    Every worker of a deployment needs the same secret: make it once, and store it with your other secrets.
    """
    click.echo(new_secret())
