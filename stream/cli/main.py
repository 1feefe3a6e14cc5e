"""The command line: ``shoal``."""

from __future__ import annotations

import stream.cli.process_1  # noqa: F401 - before the modules that take long to import

# isort: split
import errno
from typing import Any

import click

from stream.cli.attack import attack
from stream.cli.config import check_config, print_secret
from stream.cli.console import end_with, log_defect
from stream.cli.demo import demo, generate
from stream.cli.evaluate import evaluate
from stream.cli.places.regions import regions
from stream.cli.places.taxonomy import taxonomy
from stream.cli.replay import reconstruct_windows, replay
from stream.cli.sizing.size import size
from stream.cli.topics import topics
from stream.cli.trial.try_input import try_input
from stream.cli.view import view
from stream.cli.worker import approve, health, status, worker
from stream.demo.broker import BrokerError
from stream.demo.demo import DemoError
from stream.feeds.trial.sample import TrialError
from stream.formats.files.record_file import FileFormatError
from stream.formats.input.encodings.extras import MissingExtraError
from stream.kafka.topics import ClusterError
from stream.observe.health import ListenError
from stream.observe.logs import silence_kafka_client
from stream.replay.comparison.run import ComparisonError
from stream.replay.evaluation.sources import EvaluationError
from stream.replay.places.region_search import RegionSearchError
from stream.replay.reconstruction import ReconstructionError
from stream.settings.errors import SettingsError
from stream.windows.pool import PoolError
from stream.worker.replayed_windows import ViewError
from stream.worker.status import StatusError

__all__ = ["main"]

_OUR_ERRORS = (
    *(ClusterError, ComparisonError, EvaluationError, FileFormatError, DemoError, BrokerError),
    *(ListenError, MissingExtraError, PoolError, ReconstructionError, RegionSearchError, StatusError, TrialError),
    ViewError,
)
"""Errors other than those of settings; their messages say what to do."""


class _Group(click.Group):
    """Prints an error of ours as one sentence, and exits with 2 for settings and 1 for all others."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SettingsError as fault:
            end_with(ctx, str(fault), code=2)
        except _OUR_ERRORS as fault:
            end_with(ctx, str(fault), code=1)
        except OSError as fault:
            if fault.errno == errno.EPIPE:
                raise
            if fault.filename is None:
                log_defect(ctx, fault)
                raise
            end_with(ctx, f"{fault.filename}: {fault.strerror}", code=1)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as fault:
            log_defect(ctx, fault)
            raise


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="shoal", prog_name="shoal")
def main() -> None:
    """Live location feeds, released so that nobody in them can be singled out.

    \b
    See a demonstration: shoal demo
    Look at your feed:   shoal try checkins.csv, or shoal try TOPIC
    Anonymize a file:    shoal replay checkins.csv --kind checkins --output out/
    Size the service:    shoal size --records-per-second 1000 --people 50000
    Run the service:     shoal check-config, then shoal topics create, then shoal worker
    """
    silence_kafka_client()


for command in (
    *(worker, approve, status, health),
    *(try_input, regions, taxonomy, replay, reconstruct_windows, view),
    *(evaluate, attack),
    *(topics, size),
    *(check_config, print_secret),
    *(demo, generate),
):
    main.add_command(command)


if __name__ == "__main__":
    main()
