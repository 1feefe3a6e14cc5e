"""The little of Kubernetes' protobuf that its clients insist on.

Go's typed clients send the core group's objects as protobuf, and no kubeconfig, flag or variable makes Helm send JSON:
its release records (Secret or ConfigMap) and the namespace it creates arrive so. They do read answers in JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from tests.helm.manifests import Object

__all__ = ["MAGIC", "UnreadableProtobufError", "decode"]

MAGIC = b"k8s\0"
"""What a protobuf body begins with."""

_NAME, _NAMESPACE, _RESOURCE_VERSION, _LABELS, _ANNOTATIONS = 1, 3, 6, 11, 12
"""Field numbers of ObjectMeta (k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto)."""


class UnreadableProtobufError(ValueError):
    """A kind this decoder does not know; says which."""


def decode(body: bytes) -> Object:
    """Return the object in a body that begins with :data:`MAGIC`.

    Raises:
        UnreadableProtobufError: It is of another kind than ConfigMap, Secret, Namespace or DeleteOptions.
    """
    envelope = dict(_fields(body[len(MAGIC) :]))
    of = dict(_fields(envelope[1]))
    kind = of[2].decode()
    found: Object = {"apiVersion": of[1].decode(), "kind": kind}
    if kind == "DeleteOptions":
        # Only its propagation policy, field 4, is of interest.
        policies = [value.decode() for number, value in _fields(envelope[2]) if number == 4]
        return found | ({"propagationPolicy": policies[-1]} if policies else {})
    if kind not in ("ConfigMap", "Namespace", "Secret"):
        raise UnreadableProtobufError(f"no protobuf of a {kind} is understood here")
    found["metadata"] = {}
    for number, value in _fields(envelope[2]):
        if number == 1:
            found["metadata"] = _metadata(value)
        elif number == 2 and kind != "Namespace":
            key, content = _pair(value)
            text = base64.b64encode(content).decode() if kind == "Secret" else content.decode()
            found.setdefault("data", {})[key] = text
        elif number == 3 and kind == "Secret":
            found["type"] = value.decode()
    return found


def _metadata(body: bytes) -> Object:
    found: Object = {}
    names = {_NAME: "name", _NAMESPACE: "namespace", _RESOURCE_VERSION: "resourceVersion"}
    maps = {_LABELS: "labels", _ANNOTATIONS: "annotations"}
    for number, value in _fields(body):
        if number in names and value:
            found[names[number]] = value.decode()
        elif number in maps:
            key, content = _pair(value)
            found.setdefault(maps[number], {})[key] = content.decode()
    return found


def _pair(body: bytes) -> tuple[str, bytes]:
    entry = dict(_fields(body))
    return entry[1].decode(), entry.get(2, b"")


def _fields(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Return number and content of every field that has a length; numbers of the wire are skipped."""
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = body[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(body):
        tag = varint()
        length = varint()
        if tag & 7 == 2:
            yield tag >> 3, body[at : at + length]
            at += length
        elif tag & 7:
            raise UnreadableProtobufError(f"field {tag >> 3} has the wire type {tag & 7}")
