"""Logs: one line per unit of work, as JSON or as text.

They contain no user id, position or content of a record. The name of a shard may be an H3 cell.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import Processor

from stream.observe.repeated import Repeats, RepeatsProcessor
from stream.settings.service import LogSettings

__all__ = ["hear_kafka_client", "report_repeats", "set_up_logs", "silence_kafka_client"]

_IN_THE_CLEAR = "Sending username and password in the clear"
"""The Kafka client says it for every connection; a worker says it once, with what to do."""

_ours = RepeatsProcessor(Repeats())


class _Damped(logging.Filter):
    """Lets the Kafka client log a message once a minute: without a cluster it logs hundreds a second."""

    def __init__(self) -> None:
        super().__init__()
        self._repeats: Repeats[tuple[str, str]] = Repeats()

    def filter(self, record: logging.LogRecord) -> bool:
        """Decide by the message template; the client uses only a few."""
        if not record.name.startswith("aiokafka"):
            return True
        template = str(record.msg)
        totals = None if template == _IN_THE_CLEAR else self._repeats.admit((record.name, template[:40]))
        if totals:
            record.msg = f"{template} ({totals['times']} times since this was last logged)"
        return totals is not None


_damped = _Damped()


def silence_kafka_client() -> None:
    """Let the Kafka client log nothing: commands, and the start of a worker, end with a sentence that says it all."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)


def hear_kafka_client() -> None:
    """Let the Kafka client log warnings again: while a worker runs, they name the broker that does not answer."""
    logging.getLogger("aiokafka").setLevel(logging.NOTSET)


def report_repeats() -> None:
    """Log how often warnings were repeated in the last minute; call this every few seconds."""
    _ours.report()


def set_up_logs(settings: LogSettings, *, stream: TextIO | None = None) -> None:
    """Send our lines and those of the libraries (warnings and worse) to one stream, standard error by default.

    May be called again, with other settings.
    """
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=(stream or sys.stderr).isatty())
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(_damped)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                # Shows the traceback without the values of variables, which could be records.
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("shoal").setLevel(settings.level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            _ours,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
