"""Wire types: what a message of the expected form is decoded into at once, with only the fields that are read.

Such a message needs no document: its values are where simple paths lead, and are what they must be. All others, right
or wrong, are refused here, and read by :class:`stream.formats.input.mapping.DocumentMapping`, which means the same.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple, cast

import msgspec

from core.ingest.intake import Record
from core.records.record import Fragment, Kind, attribute_field, checkin_type
from stream.formats.input.mapping import MappingOptions
from stream.formats.input.paths import field_names
from stream.formats.input.reference_systems import StatedSystems

__all__ = ["Wire", "wire_of"]


class Wire(NamedTuple):
    """How messages of the expected form are decoded."""

    type: type[msgspec.Struct]
    """What msgspec decodes them into."""

    record: Callable[[Any], Record] | None
    """Makes the record of that; None if it is the record itself."""

    base: builtins.type[Record]
    """The type of the record."""

    paths: Mapping[str, tuple[str, ...]]
    """For each of its fields the names that lead to it in a document."""


class _Leaf(NamedTuple):
    """A field of ours in the tree of a message's objects."""

    type: Any
    is_needed: bool
    default: Any


_Tree = dict[str, Any]
"""Objects of a message by the names of their fields: other trees, and leaves."""


def wire_of(kind: Kind, options: MappingOptions) -> Wire | None:
    """Return how messages of the expected form are decoded; None if the options leave no form to expect."""
    if not options.is_as_it_is or options.only or options.observer is not None:
        return None
    if StatedSystems(options.names, options.records).are_possible:
        return None
    base: type[Record] = checkin_type(len(options.attributes)) if kind is Kind.CHECKINS else Fragment
    names = dict(options.names) | {attribute_field(i): name for i, name in enumerate(options.attributes)}
    paths = {field: field_names(names[field]) for field in base.__struct_fields__}
    records = field_names(options.records) if options.records else ()
    if records is None or any(path is None for path in paths.values()):
        return None
    found = {field: (*records, *(path or ())) for field, path in paths.items()}
    if all(len(path) == 1 for path in found.values()):
        return Wire(_renamed(base, {field: path[0] for field, path in found.items()}), None, base, found)
    # A field whose own name is the path comes first, if there is one: such messages have another form.
    literals = {(*records, ".".join(path or ())) for path in paths.values() if path is not None and len(path) > 1}
    if any(path[0] == "payload" for path in found.values()):  # a schema of Kafka Connect may say what its values are
        literals.add(("schema",))
    tree = _tree(base, found, literals)
    if tree is None:
        return None
    made, places = _struct(tree, "")
    values = attrgetter(*(places[found[field]] for field in base.__struct_fields__))
    others = attrgetter(*(places[path] for path in sorted(literals))) if literals else None

    def record(wire: Any) -> Record:
        if others is not None and _is_any(others(wire)):
            raise msgspec.ValidationError("the message has another form")
        return base(*values(wire))

    return Wire(made, record, base, found)


def _renamed(base: type[Record], names: Mapping[str, str]) -> type[Record]:
    """Return a type of records whose fields have other names in messages."""
    renamed = {field: name for field, name in names.items() if field != name}
    if not renamed:
        return base
    fields: list[tuple[str, type] | tuple[str, type, object]] = [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(base)
    ]
    made = msgspec.defstruct(base.__name__, fields, bases=(base,), rename=renamed, frozen=True, gc=False)
    return cast("type[Record]", made)


def _is_any(found: Any) -> bool:
    return any(one is not None for one in found) if isinstance(found, tuple) else found is not None


def _tree(base: type[Record], paths: Mapping[str, tuple[str, ...]], literals: set[tuple[str, ...]]) -> _Tree | None:
    """Return the objects in which the fields are; None if a field is an object with other fields, or two are one."""
    tree: _Tree = {}
    leaves = [(paths[field.name], _leaf(field)) for field in msgspec.structs.fields(base)]
    for path, leaf in [*leaves, *((path, _Leaf(Any, False, None)) for path in sorted(literals))]:
        at = tree
        for name in path[:-1]:
            at = at.setdefault(name, {})
            if isinstance(at, _Leaf):
                return None
        if path[-1] in at:
            return None
        at[path[-1]] = leaf
    return tree


def _leaf(field: msgspec.structs.FieldInfo) -> _Leaf:
    return _Leaf(field.type, field.required, None if field.required else field.default)


def _struct(tree: _Tree, prefix: str) -> tuple[type[msgspec.Struct], dict[tuple[str, ...], str]]:
    """Return the type of an object, and for each path below it the attributes that lead to its value."""
    needed: list[tuple[str, Any]] = []
    optional: list[tuple[str, Any, Any]] = []
    places: dict[tuple[str, ...], str] = {}
    names: dict[str, str] = {}
    for i, (name, below) in enumerate(tree.items()):
        attribute = f"at_{i}"
        names[attribute] = name
        if isinstance(below, _Leaf):
            places[(name,)] = f"{prefix}{attribute}"
            if below.is_needed:
                needed.append((attribute, below.type))
            else:
                optional.append((attribute, below.type, below.default))
            continue
        inner, inner_places = _struct(below, f"{prefix}{attribute}.")
        places |= {(name, *path): place for path, place in inner_places.items()}
        if any(field.required for field in msgspec.structs.fields(inner)):
            needed.append((attribute, inner))
        else:
            optional.append((attribute, inner, msgspec.field(default_factory=inner)))
    return msgspec.defstruct("Wire", [*needed, *optional], rename=names, gc=False), places
