"""How the bytes of a feed's messages become documents, from its settings."""

from __future__ import annotations

from core.records.record import Kind
from stream.formats.input.encodings.decoding import Decoder, SchemaFileError, new_decoder
from stream.formats.input.encodings.extras import MissingExtraError
from stream.settings.errors import SettingsError
from stream.settings.model import Settings

__all__ = ["message_decoder"]


def message_decoder(settings: Settings, kind: Kind) -> Decoder:
    """Return the decoder of a feed's messages.

    Raises:
        SettingsError: No schema can be had, the schema file cannot be used, or a library is not installed.
    """
    form, has_registry = settings.for_kind(kind).input, settings.registry.url is not None
    needs_schema = form.encoding in ("avro", "protobuf")
    if needs_schema and form.schema_file is None and not has_registry:
        raise SettingsError(f"input.encoding is {form.encoding}: set registry.url or input.schema_file")
    try:
        return new_decoder(form.encoding, schema_file=form.schema_file, message=form.message, has_registry=has_registry)
    except MissingExtraError as fault:
        raise SettingsError(f"input.encoding is {form.encoding}: {fault}") from None
    except SchemaFileError as fault:
        where = f"encoding is {form.encoding}" if form.schema_file is None else f"schema_file is {form.schema_file}"
        raise SettingsError(f"input.{where}: {fault}") from None
