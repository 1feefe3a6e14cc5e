"""All settings of the program for the chart: name, default, description and JSON schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, BeforeValidator, SecretStr, TypeAdapter
from pydantic.fields import FieldInfo

from core.models.common.values import Duration, none_by_name
from core.records.record import INPUT_KINDS, Kind
from stream.settings.kinds import ReleaseOverrideSettings
from stream.settings.model import Settings
from stream.settings.values import four_degrees, rows_and_columns, separated_by_commas

__all__ = ["CHART_DEFAULTS", "SECRETS", "Setting", "overridable", "overrides_schema", "sections", "settings"]

CHART_DEFAULTS: dict[str, Any] = {
    "kafka.bootstrap_servers": "",  # there is no cluster on a Pod's loopback interface: refuse to render instead
    "kafka.replication_factor": 3,
    "metrics.host": "0.0.0.0",  # noqa: S104 - probes and Prometheus come from outside the Pod; see networkPolicy
    "logs.format": "json",
}
"""Defaults of the chart that differ from the program's, because a Pod needs others than a process on a machine."""

SECRETS = {
    "privacy.secret": "pseudonymSecret",
    "kafka.sasl_password": "kafka.credentials",
    "kafka.oauth_client_secret": "kafka.credentials",
    "kafka.ssl_key_password": "kafka.clientCertificate",
    "registry.password": "registry.credentials",
    "registry.token": "registry.credentials",
    "telemetry.headers": "telemetry.credentials",
}
"""Settings that are never in a ConfigMap, and the values that name their Secret."""

_DURATION_WITH_UNIT = TypeAdapter(Duration).json_schema()["pattern"]
_DURATION = r"^\s*\d+\s*(ms|s|m|h|d|w)?\s*$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting."""

    section: str
    name: str
    default: Any
    """The default as written in settings, such as ``15m``; the chart's own default if it has one."""

    description: str
    schema: dict[str, Any]
    is_secret: bool
    is_duration: bool

    @property
    def dotted(self) -> str:
        """Name with its section, ``privacy.k``."""
        return f"{self.section}.{self.name}"


def sections() -> dict[str, type[BaseModel]]:
    """Return the sections by name, without those that only override others for one kind of feed."""
    found = {name: field.annotation for name, field in Settings.model_fields.items() if name not in INPUT_KINDS}
    return {name: model for name, model in found.items() if isinstance(model, type) and issubclass(model, BaseModel)}


def settings() -> Iterator[Setting]:
    """Yield every setting in the order of the program.

    Raises:
        ValueError: A setting has no description.
    """
    defaults = json.loads(Settings.model_construct().model_dump_json())
    for section, model in sections().items():
        schemas = _schemas(model)
        for name, field in model.model_fields.items():
            if section == Kind.STOPS and name in overridable():
                continue
            if not field.description:
                raise ValueError(f"{section}.{name} has no description: add a docstring below it")
            yield Setting(
                section=section,
                name=name,
                default=CHART_DEFAULTS.get(f"{section}.{name}", defaults[section][name]),
                description=field.description.replace("``", "`").replace("\n", " "),
                schema=schemas[name],
                is_secret=_is_secret(field),
                is_duration=any(map(_is_duration, schemas[name].get("anyOf", [schemas[name]]))),
            )


def overridable() -> tuple[str, ...]:
    """Return the sections that may differ for stops."""
    return tuple(ReleaseOverrideSettings.model_fields)


def overrides_schema(kind: Kind) -> dict[str, Any]:
    """Return the schema of the sections that may differ for a kind of feed, in which every setting is optional."""
    override = Settings.model_fields[kind].annotation
    assert isinstance(override, type)  # noqa: S101 - for mypy
    assert issubclass(override, BaseModel)  # noqa: S101
    named = {name: model for name, model in sections().items() if name in override.model_fields}
    return _strict({name: _strict(_without_secrets(model)) for name, model in named.items()})


def _without_secrets(model: type[BaseModel]) -> dict[str, Any]:
    schemas = _schemas(model)
    return {name: schemas[name] for name, field in model.model_fields.items() if not _is_secret(field)}


def _strict(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _is_secret(field: FieldInfo) -> bool:
    return field.annotation is SecretStr or SecretStr in getattr(field.annotation, "__args__", ())


def _schemas(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each field's input, before it is parsed."""
    properties: dict[str, dict[str, Any]] = model.model_json_schema()["properties"]
    schemas = {}
    for name, field in model.model_fields.items():
        schema = {key: value for key, value in properties[name].items() if key not in ("title", "default")}
        description = schema.pop("description", "")
        either = [_not_blank(_without_unit(_draft_7(one))) for one in schema.pop("anyOf", [schema])]
        readers = {one.func for one in field.metadata if isinstance(one, BeforeValidator)}
        if none_by_name in readers:
            either.append({"const": "none"})
        if readers & {four_degrees, rows_and_columns, separated_by_commas}:
            either.append(_not_blank({"type": "string"}))
        allowed = either[0] if len(either) == 1 else {"anyOf": either}
        schemas[name] = {"description": description.replace("``", "`").replace("\n", " "), **allowed}
    return schemas


def _is_duration(schema: dict[str, Any]) -> bool:
    return schema.get("pattern") == _DURATION


def _without_unit(schema: dict[str, Any]) -> dict[str, Any]:
    """Allow a duration without a unit: a template refuses it with a sentence, in place of "maximum: got 15, want 0"."""
    if schema.get("pattern") != _DURATION_WITH_UNIT:
        return schema
    return {key: value for key, value in schema.items() if key != "maximum"} | {"pattern": _DURATION}


def _not_blank(schema: dict[str, Any]) -> dict[str, Any]:
    """Refuse blank strings as :class:`Section` does, also in lists and maps; strings with own rules stay unchanged."""
    if schema.get("type") == "string" and not schema.keys() & {"pattern", "enum"}:
        return schema | {"pattern": r"\S"}
    below = {name: schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)}
    changed = {name: _not_blank(one) for name, one in below.items()}
    if "patternProperties" in schema:
        changed["patternProperties"] = {name: _not_blank(one) for name, one in schema["patternProperties"].items()}
    return schema | changed


def _draft_7(schema: dict[str, Any]) -> dict[str, Any]:
    """Write a tuple in draft 7 of JSON schema, which Helm 3 uses."""
    kept = {key: value for key, value in schema.items() if key not in ("format", "writeOnly")}
    if "prefixItems" in kept:
        kept["items"] = kept.pop("prefixItems")
    return kept
