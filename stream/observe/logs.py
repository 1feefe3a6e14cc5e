"""Logs: one line per unit of work, as JSON or as text. They contain no user id, location or content of a record."""

from __future__ import annotations

import logging
import sys
import time
from typing import TextIO

import structlog
from structlog.typing import Processor

from stream.settings.service import LogSettings

__all__ = ["set_up_logs"]

_DAMPED_S = 10.0


class _Damped(logging.Filter):
    """Lets the Kafka client log a message once in ten seconds: without a cluster it logs hundreds a second."""

    def __init__(self) -> None:
        super().__init__()
        self._said_s: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Decide by the message template; the client uses only a few."""
        if not record.name.startswith("aiokafka"):
            return True
        said, now_s = (record.name, str(record.msg)[:40]), time.monotonic()
        if now_s - self._said_s.get(said, -_DAMPED_S) < _DAMPED_S:
            return False
        self._said_s[said] = now_s
        return True


def set_up_logs(settings: LogSettings, *, stream: TextIO | None = None) -> None:
    """Send our lines and those of the libraries (warnings and worse) to one stream, standard error by default."""
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
    handler.addFilter(_Damped())
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
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
