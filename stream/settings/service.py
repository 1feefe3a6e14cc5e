"""The sections of the worker as a program: where it listens, what it logs, how it uses its machine."""

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
    """The address to listen at; ``0.0.0.0`` is every one."""

    port: Annotated[int, Field(ge=1, le=65535)]
    """The port to listen at."""

    @property
    def url(self) -> str:
        """Its address for whoever asks on the same machine; no slash at the end."""
        # Every address is one to listen at, but none to ask at.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - read, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


class MetricsSettings(ListenSettings):
    """Where health and metrics are served, for Prometheus and whoever keeps the worker running."""

    port: Annotated[int, Field(ge=1, le=65535)] = 6067
    """The port to listen at: ``/metrics``, ``/healthz`` and ``/readyz``."""


class WebSettings(ListenSettings):
    """Where the figures of the last windows and the live page are served, for those who use the releases."""

    port: Annotated[int, Field(ge=1, le=65535)] = 6066
    """The port to listen at: ``/api/status`` and ``/api/windows``, and the page where it is on."""

    page: bool = False
    """Whether the live page at ``/`` is served, and with it released trajectories to whoever reaches the port."""

    tile_url: Annotated[Annotated[str, AfterValidator(tile_address)] | None, BeforeValidator(none_by_name)] = None
    """Map tiles below the live page's map, such as ``https://tiles.example/{z}/{x}/{y}.png``, or ``none``: browsers
    then ask that host for the tiles of where the releases are."""


class LogSettings(Section):
    """How the program speaks."""

    format: Literal["console", "json"] = "console"
    """For people, or one JSON object a line."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """What is said at least."""


class WorkerSettings(Section):
    """How a worker uses its machine."""

    processes: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes that anonymize."""

    grace_period: PositiveDuration = 20_000
    """How long a worker may take to finish its window when it is told to stop."""
