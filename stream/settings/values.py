"""Values as people write them: durations, sizes, instants, areas. They are printed in the form they are read in."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from ipaddress import IPv6Address
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from core.models.common.values import DURATION_MS, Duration, largest_unit

__all__ = [
    "HOST_AND_PORT",
    "LARGEST_MESSAGE_BYTES",
    "PATH_OF_ADDRESS",
    "THIS_MACHINE",
    "Brokers",
    "Count",
    "FieldName",
    "FirstOffset",
    "Instant",
    "SessionTimeout",
    "Size",
    "Text",
    "TokenAddress",
    "are_hosts",
    "four_degrees",
    "instant_ms",
    "not_empty",
    "not_too_large",
    "rows_and_columns",
    "separated_by_commas",
    "show_instant",
    "show_size",
    "tile_address",
    "wrong_in_section",
    "wrong_value",
]

LARGEST_MESSAGE_BYTES = 8 * 1024**2
"""Upper limit of ``limits.message_bytes``: one request of a Kafka client must hold such a message."""

_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})"
_HOST = rf"({_LABEL}(\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])"
"""A host name that a resolver accepts, or an IP address; an IPv6 address is in brackets."""

_PORT = r"0{0,4}([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
HOST_AND_PORT = rf"{_HOST}(:{_PORT})?"
"""Pattern of a host with or without a port."""

_SERVER = rf"\s*{_HOST}:{_PORT}\s*"
_SERVERS = rf"^{_SERVER}(,{_SERVER})*$"
PATH_OF_ADDRESS = r"(/[A-Za-z0-9._~!$&'()*+;=:%/-]*)?"
"""Pattern of what may follow the host: no query, and no comma, which separates addresses."""

THIS_MACHINE = r"(localhost|127\.0\.0\.1|\[::1\])"
"""Pattern of the hosts to which secrets may be sent without TLS."""

_TOKEN_ADDRESS = rf"^(https://{_HOST}|http://{THIS_MACHINE})(:{_PORT})?([/?][!\"$-~]*)?$"

_SIZE_BYTES = {"": 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def wrong_value(said: str) -> PydanticCustomError:
    """Make the error whose sentence is the name of the setting and then ``said``, such as ``is empty: ...``."""
    return PydanticCustomError("said", "{said}", {"said": said})


def wrong_in_section(name: str, said: str) -> PydanticCustomError:
    """Make the error of a whole section whose sentence is the section, a dot, the name of one setting and ``said``."""
    return PydanticCustomError("said_of", "{name} {said}", {"name": name, "said": said})


def not_empty(value: object) -> object:
    """Refuse an empty or blank text: it nearly always comes from a variable that is missing."""
    if isinstance(value, str) and not value.strip():
        found = "is only white space" if value else "is empty"
        raise wrong_value(f"{found}: leave it out, or give it a value")
    return value


def _size_bytes(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+)\s*(B|KiB|MiB|GiB|)", value.strip())):
        return int(match[1]) * _SIZE_BYTES[match[2]]
    raise ValueError("it must be a size such as 900KiB or 1MiB")


def instant_ms(value: object) -> int:
    """Read an instant as Unix milliseconds; without an offset it is UTC."""
    if isinstance(value, datetime):
        moment = value
    else:
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            raise ValueError("it must be an instant such as 2000-01-01T00:00:00Z") from None
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def _first_offset(value: object) -> object:
    """Read ``earliest``, ``latest`` or an instant as Unix milliseconds."""
    if value in ("earliest", "latest"):
        return value
    try:
        moment = instant_ms(value)
    except ValueError:
        moment = -1
    if moment < 0:  # Kafka reads -1 and -2 as the end and the beginning
        raise ValueError("it must be earliest, latest, or an instant such as 2025-10-09T00:00:00Z")
    return moment


def four_degrees(value: object) -> object:
    """Read four numbers, as a list or separated by commas."""
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or len(parts) != 4:
        raise ValueError("it must be four numbers: south, west, north, east in degrees")
    return tuple(parts)


def rows_and_columns(value: object) -> object:
    """Read rows and columns, as a pair or as ``20x20``."""
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+)\s*x\s*(\d+)", value.strip())):
        return int(match[1]), int(match[2])
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return tuple(value)
    raise ValueError("it must be rows and columns such as 20x20")


def separated_by_commas(value: object) -> object:
    """Read texts, as a list or separated by commas. None of them may be empty."""
    if isinstance(value, str):
        parts: tuple[object, ...] = tuple(part.strip() for part in value.split(","))
    elif isinstance(value, (list, tuple)):
        parts = tuple(value)
    else:
        raise ValueError("it must be a list of texts, or texts separated by commas")
    if empty := sum(isinstance(part, str) and not part.strip() for part in parts):
        raise wrong_value(f"has {len(parts)} texts, of which {empty} are empty: leave those out, or give them a value")
    return parts


def not_too_large(value: int) -> int:
    """Refuse a message size that a request cannot hold."""
    if value > LARGEST_MESSAGE_BYTES:
        raise ValueError(f"it must be at most {show_size(LARGEST_MESSAGE_BYTES)}")
    return value


def _session_timeout(value: int) -> int:
    """Refuse a time-out that is too short for heartbeats, or too long for the 32 bits of a request."""
    if not DURATION_MS["s"] <= value <= 24 * DURATION_MS["d"]:
        raise ValueError("it must be 1s to 24d")
    return value


def _brokers(value: str) -> str:
    """Refuse all but ``host:port``, separated by commas."""
    if not re.fullmatch(_SERVERS, value, re.ASCII) or not are_hosts(value):
        raise ValueError("it must be brokers such as kafka-1:9092,kafka-2:9092, with ports of 1 to 65535")
    return value


def tile_address(value: str) -> str:
    """Refuse what is not an address of map tiles, and characters that have a meaning in the header that contains it."""
    address = re.fullmatch(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?/[^\s\"'<>;,\\]*", value)
    if address is None or not all(part in value for part in ("{z}", "{x}", "{y}")):
        raise ValueError("it must be an address such as https://tiles.example/{z}/{x}/{y}.png")
    return value


def _token_address(value: str) -> str:
    """Refuse a token endpoint that would expose the client secret: plain HTTP to another machine, or no address."""
    if not re.fullmatch(_TOKEN_ADDRESS, value, re.ASCII) or not are_hosts(re.split(r"[/?]", value)[2]):
        raise ValueError("it must be an address such as https://login.example/oauth2/token, without a user or password")
    return value


def are_hosts(text: str) -> bool:
    """Return whether texts in brackets are IPv6 addresses, and no name is longer than a resolver accepts."""
    try:
        for address in re.findall(r"\[(.*?)\]", text):
            IPv6Address(address)
    except ValueError:
        return False
    return all(len(re.sub(r":[0-9]+$", "", host.strip())) <= 253 for host in text.split(","))


def show_size(value: int) -> str:
    """Write bytes in the largest unit that fits."""
    return largest_unit(value, _SIZE_BYTES)


def show_instant(value: int) -> str:
    """Write Unix milliseconds as RFC 3339."""
    return datetime.fromtimestamp(value / 1000, tz=UTC).isoformat().replace("+00:00", "Z")


SessionTimeout = Annotated[Duration, AfterValidator(_session_timeout)]
Size = Annotated[
    int,
    BeforeValidator(_size_bytes),
    Field(ge=1024),
    PlainSerializer(show_size, when_used="json"),
    WithJsonSchema({"type": ["string", "integer"], "pattern": r"^\s*\d+\s*(B|KiB|MiB|GiB|)\s*$", "minimum": 1024}),
]
Instant = Annotated[
    int,
    BeforeValidator(instant_ms),
    PlainSerializer(show_instant, when_used="json"),
    WithJsonSchema({"type": "string"}),
]
FirstOffset = Annotated[
    Literal["earliest", "latest"] | int,
    BeforeValidator(_first_offset),
    PlainSerializer(lambda value: show_instant(value) if isinstance(value, int) else value, when_used="json"),
    WithJsonSchema({"type": "string"}),
]
Brokers = Annotated[str, AfterValidator(_brokers), WithJsonSchema({"type": "string", "pattern": _SERVERS})]
TokenAddress = Annotated[
    str, AfterValidator(_token_address), WithJsonSchema({"type": "string", "pattern": _TOKEN_ADDRESS})
]
Text = Annotated[str, BeforeValidator(not_empty)]
FieldName = Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$")]
Count = Annotated[int, Field(ge=1, le=100_000)]
