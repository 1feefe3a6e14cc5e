"""The sections about the worker as a program: where it listens, what it logs, how it uses its machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, WithJsonSchema

from core.models.common.values import PositiveDuration, none_by_name
from stream.settings.credentials import trusting
from stream.settings.errors import SettingsError
from stream.settings.section import Section
from stream.settings.values import HOST_AND_PORT, PATH_OF_ADDRESS, THIS_MACHINE, are_hosts, tile_address, wrong_value

__all__ = [
    "ListenSettings",
    "LogSettings",
    "MetricsSettings",
    "TelemetrySettings",
    "WebSettings",
    "WorkerSettings",
    "check_telemetry",
]

_RECEIVER = rf"^https?://{HOST_AND_PORT}{PATH_OF_ADDRESS}$"
_HEADER = r"\s*[!#$%&'*+.^_`|~A-Za-z0-9-]+\s*=[^,\x00-\x1f\x7f]*"


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


def _receiver(value: str) -> str:
    """Refuse all but one address without a user or password."""
    if "@" in value:  # the sentence for other wrong values repeats them
        raise wrong_value("has a user or password: leave them out, and set telemetry.headers")
    if not re.fullmatch(_RECEIVER, value, re.ASCII) or not are_hosts(value.split("/")[2]):
        raise ValueError("it must be an address such as http://collector:4318, without a user or password")
    return value.rstrip("/")


def _headers(value: SecretStr | None) -> SecretStr | None:
    """Refuse what a request cannot have as headers."""
    if value is not None and not re.fullmatch(rf"{_HEADER}(,{_HEADER})*", value.get_secret_value(), re.ASCII):
        raise wrong_value("is hidden: it must be names and values such as api-key=abc, separated by commas")
    return value


class TelemetrySettings(Section):
    """Traces and metrics by OpenTelemetry's protocol, OTLP over HTTP; needs ``pip install 'shoal[otel]'``."""

    secrets_in_files = frozenset({"headers"})

    endpoint: (
        Annotated[str, AfterValidator(_receiver), WithJsonSchema({"type": "string", "pattern": _RECEIVER})] | None
    ) = None
    """Address of an OTLP receiver, such as ``http://collector:4318``. ``/v1/traces`` and ``/v1/metrics`` are added to
    it; the protocol is ``http/protobuf``. Without it nothing is sent."""

    headers: Annotated[SecretStr | None, AfterValidator(_headers)] = None
    """Headers of every request, such as ``api-key=abc``, separated by commas; special characters in values are
    percent-encoded, as in ``OTEL_EXPORTER_OTLP_HEADERS``."""

    headers_file: Path | None = None
    """A file with the headers, in place of ``telemetry.headers``. The line break at its end is left out."""

    cafile: Path | None = None
    """PEM file of the certificates to trust at the receiver; by default the system's."""

    service_name: str = "shoal"
    """``service.name`` of traces and metrics."""

    service_instance: str | None = None
    """``service.instance.id`` of traces and metrics; by default the host's name and ``metrics.port``."""

    traces: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the windows that are traced, and of the batches of ``producer_links``. A window has one trace, from its
    seal to its release; every worker makes the same choice."""

    metrics: bool = False
    """Whether metrics are sent as well. They are the same as at ``/metrics``: leave it off where a Prometheus reads
    those."""

    metrics_every: PositiveDuration = 60_000
    """How often metrics are sent."""

    traceparent: bool = False
    """Whether every message of a release has the header ``traceparent``, so that traces of consumers continue the
    window's. Values of messages stay the same bytes."""

    producer_links: Annotated[int, Field(ge=0, le=128)] = 0
    """Most links of a batch of input records to the traces of their producers, which are read from the header
    ``traceparent`` of records. With 0 headers are not read. Links say which producers' traces came in one batch, but
    not in which window: that would reveal where and when somebody was."""

    @property
    def header_values(self) -> dict[str, str]:
        """The headers by name."""
        pairs = "" if self.headers is None else self.headers.get_secret_value()
        named = [pair.partition("=") for pair in pairs.split(",")] if pairs else []
        return {name.strip().lower(): unquote(value.strip()) for name, _, value in named}


def check_telemetry(telemetry: TelemetrySettings) -> None:
    """Check that what is set about the receiver is used, and that headers are not sent in the clear.

    Raises:
        SettingsError: A setting is not used, exposed, or names a file that cannot be used.
    """
    used_by_receiver = ("headers", "cafile", "traceparent", "producer_links")
    endpoint, given = telemetry.endpoint, [name for name in used_by_receiver if getattr(telemetry, name)]
    if endpoint is None:
        if given or telemetry.metrics:
            raise SettingsError(
                f"telemetry.{[*given, 'metrics'][0]} is set and telemetry.endpoint is not: set both, or none"
            )
        return
    is_plain = endpoint.startswith("http://")
    if telemetry.headers is not None and is_plain and not re.match(rf"http://{THIS_MACHINE}(:|/|$)", endpoint):
        raise SettingsError(
            "telemetry.headers is set and telemetry.endpoint begins with http://: secrets would be sent in the clear; "
            "use https:// (http:// is allowed with headers for this machine alone)"
        )
    if telemetry.cafile is not None:
        if is_plain:
            raise SettingsError(
                "telemetry.cafile is set and telemetry.endpoint begins with http://: only https:// uses it; leave one "
                "of the two out"
            )
        trusting("telemetry.cafile", telemetry.cafile)
    of_traces = [name for name in ("traceparent", "producer_links") if getattr(telemetry, name)]
    if telemetry.traces == 0 and of_traces:
        raise SettingsError(
            f"telemetry.{of_traces[0]} is set and telemetry.traces is 0: there are no traces; set telemetry.traces "
            f"above 0, or leave telemetry.{of_traces[0]} out"
        )
