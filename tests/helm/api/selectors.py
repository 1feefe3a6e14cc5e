"""The selectors of a request's query, by label and by field."""

from __future__ import annotations

import re

from tests.helm.api.admission import ApiError
from tests.helm.manifests import Object

__all__ = ["has_fields", "has_labels"]

_TERM = re.compile(r"(?P<key>[^!=\s]+)\s*(?P<sign>==|=|!=|\bin\b|\bnotin\b)\s*(?P<values>.*)")


def has_labels(one: Object, selector: str) -> bool:
    """Return whether an object's labels satisfy a selector.

    >>> has_labels({"metadata": {"labels": {"app": "shoal"}}}, "app in (shoal, other),!gone")
    True

    Raises:
        ApiError: It cannot be read.
    """
    labels = one["metadata"].get("labels") or {}
    for term in re.split(r",(?![^(]*\))", selector):
        if not (bare := term.strip()):
            continue
        if found := _TERM.fullmatch(bare):
            values = [value.strip() for value in found["values"].strip("()").split(",")]
            if (labels.get(found["key"]) in values) != (found["sign"] in ("=", "==", "in")):
                return False
        elif re.search(r"[\s=()]", bare):
            raise ApiError(400, "BadRequest", f"unable to parse the label selector {selector!r}")
        elif (bare.lstrip("!") in labels) == bare.startswith("!"):
            return False
    return True


def has_fields(one: Object, selector: str) -> bool:
    """Return whether an object satisfies a selector of fields, such as ``metadata.name=shoal``."""
    for term in filter(None, selector.split(",")):
        path, sign, wanted = re.split(r"(!=|==|=)", term, maxsplit=1)
        value: object = one
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if (str(value or "") == wanted) == (sign == "!="):
            return False
    return True
