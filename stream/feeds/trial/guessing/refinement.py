"""What a preset leaves open: the unit of times and positions, numbers as text, and the names of a table's columns."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from core.records.record import Kind
from stream.feeds.trial.coverage import FieldValues
from stream.feeds.trial.guessing.guess import guess_documents, guess_fields
from stream.feeds.trial.guessing.shape import shape_of
from stream.feeds.trial.guessing.written import NEEDS_USER, Guess
from stream.feeds.trial.sample import Sample
from stream.formats.input.mapping import MappingOptions
from stream.formats.input.paths import Origin

__all__ = ["Refinement"]


class Refinement:
    """Watches the records that a preset leads to, and guesses what it does not say of them.

    Args:
        kind: What the feed holds.
        options: How the preset reads it.
        stated: The settings that the preset states, by dotted name. They are never changed.
        is_text: Whether all values are text anyway, as in a table.
        is_envelope: Whether the preset says only where a record is, and nothing of its fields.
        may_name_person: Whether a person may be looked for whom the preset does not find.
    """

    def __init__(
        self,
        kind: Kind,
        options: MappingOptions,
        stated: Collection[str],
        *,
        is_text: bool,
        is_envelope: bool,
        may_name_person: bool,
    ) -> None:
        self._kind, self._stated, self._is_text = kind, stated, is_text
        self._is_envelope, self._may_name_person = is_envelope, may_name_person
        self._values_of = FieldValues(kind, options)
        self._names = options.names
        self._sample = Sample()
        self._values: dict[str, list[Any]] = {}

    def observe(self, record: Any, origin: Origin) -> None:
        """See one record."""
        self._sample.documents.append(record)
        self._sample.origins.append(origin)
        for name, values in self._values_of(record, origin).items():
            self._values.setdefault(name, []).extend(value for value in values if value is not None)

    def guess(self) -> Guess | None:
        """Return settings to add to the preset; None if there are none that could help."""
        has_place = all(self._values.get(name) for name in ("ts", "lat", "lon"))
        has_user = bool(self._values.get("user"))
        if not self._sample.documents or not (has_place or self._is_envelope):
            return None
        if self._is_envelope and not (has_place and has_user):
            found = guess_documents(self._sample, self._kind)
            if found is None or not found.has_position or "input.records" in found.settings:
                return None
            if "fields.user" not in found.settings:
                found.needs["fields.user"] = NEEDS_USER
        else:
            found = self._of_values()
            if not has_user and self._may_name_person:
                others = guess_fields(shape_of(self._sample.documents), is_text=self._is_text).settings
                found.settings |= {name: value for name, value in others.items() if name == "fields.user"}
        # A person whom the preset does not find may be named by another field.
        kept = () if has_user else ("fields.user",)
        found.settings = {
            name: value for name, value in found.settings.items() if name in kept or name not in self._stated
        }
        found.needs = {name: why for name, why in found.needs.items() if name not in self._stated}
        return found if found.settings or found.needs else None

    def _of_values(self) -> Guess:
        found = Guess()
        ts, lat, lon = (self._values[name] for name in ("ts", "lat", "lon"))
        found.add_time(self._names["ts"], ts, is_text=self._is_text)
        found.add_degrees(self._names["lat"], lat, lon)
        found.add_text_numbers([*lat, *lon], is_text=self._is_text)
        return found
