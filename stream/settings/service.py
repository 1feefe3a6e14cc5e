"""The sections about the worker as a program: where it listens, what it logs, how it uses its machine."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from core.models.common.values import PositiveDuration, none_by_name
from stream.settings.section import Section
from stream.settings.values import tile_address

__all__ = ["ListenSettings", "LogSettings", "MetricsSettings", "WebSettings", "WorkerSettings"]


class ListenSettings(Section):
    """Where a worker listens."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    """The address to listen on; ``0.0.0.0`` means all addresses."""

    port: Annotated[int, Field(ge=1, le=65535)]
    """The port to listen on."""

    @property
    def url(self) -> str:
        """The URL for clients on the same machine, without a slash at the end."""
        # "All addresses" is for listening alone: a client needs a concrete one.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - read, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


class MetricsSettings(ListenSettings):
    """Where health and metrics are served, for Prometheus and operators."""

    port: Annotated[int, Field(ge=1, le=65535)] = 6067
    """The port of ``/metrics``, ``/healthz`` and ``/readyz``."""

    count_step: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Counters of records and windows by outcome are served rounded down to multiples of this. With 1 they are exact:
    whoever reads them often learns that single people were withheld or suppressed, though not where. Refused windows
    stay exact. Gauges and durations still show that a window is there."""


class WebSettings(ListenSettings):
    """Where the figures of the last windows and the live page are served, for users of the releases."""

    port: Annotated[int, Field(ge=1, le=65535)] = 6066
    """The port of ``/api/status``, ``/api/windows`` and the live page."""

    page: bool = False
    """Whether the live page is served at ``/``. It shows released trajectories to everybody who can reach the port."""

    tile_url: Annotated[Annotated[str, AfterValidator(tile_address)] | None, BeforeValidator(none_by_name)] = None
    """Background map tiles of the live page, such as ``https://tiles.example/{z}/{x}/{y}.png``, or ``none``. Browsers
    request the tiles from that host, which learns from it where the releases are."""


class LogSettings(Section):
    """What the program logs, and how."""

    format: Literal["console", "json"] = "console"
    """``console`` for people, ``json`` for one JSON object on each line."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe level that is logged."""


class WorkerSettings(Section):
    """How a worker uses its machine."""

    processes: Annotated[int, Field(ge=1, le=256)] = 1
    """Number of processes that anonymize windows."""

    grace_period: PositiveDuration = 20_000
    """How long a worker may take to finish its window after SIGTERM."""

    watch_files: bool = True
    """Whether a worker reads its settings again when the settings file, a file with a secret or a certificate changes.
    SIGHUP makes it read them in any case. Only some settings take effect before a restart; the log names the others."""
