"""What comes in requests to the API server: patches, selectors, protobuf."""

from __future__ import annotations

import pytest

from tests.helm.api.merge import UnknownDirectiveError, json_merge, strategic_merge
from tests.helm.api.protobuf import MAGIC, UnreadableProtobufError, decode
from tests.helm.api.selectors import has_labels
from tests.helm.manifests import Object

LIVE = {"containers": [{"name": "a", "image": "1", "ports": [{"containerPort": 80}]}, {"name": "b", "image": "1"}]}


@pytest.mark.parametrize(
    ("patch", "images"),
    [
        ({"containers": [{"name": "b", "image": "2"}]}, {"a": "1", "b": "2"}),
        ({"containers": [{"name": "a", "$patch": "delete"}]}, {"b": "1"}),
        ({"containers": [{"$patch": "replace"}, {"name": "c", "image": "3"}]}, {"c": "3"}),
        ({"containers": [{"name": "c", "image": "3"}]}, {"a": "1", "b": "1", "c": "3"}),
        ({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}, {"b": "1", "a": "1"}),
        ({"$retainKeys": []}, {}),
        ({"containers": None}, {}),
    ],
)
def test_a_strategic_patch_changes_elements_one_by_one(patch: Object, images: dict[str, str]) -> None:
    """
    Elements are found by their key; one can be changed, added, deleted, put elsewhere, or all replaced.
    """
    merged = strategic_merge("Pod", LIVE, patch)
    assert [(one["name"], one["image"]) for one in merged.get("containers", [])] == list(images.items())


def test_a_directive_that_is_not_known_is_refused() -> None:
    """
    It is not taken for a field.
    """
    with pytest.raises(UnknownDirectiveError, match=r"\$deleteFromPrimitiveList/args is not understood"):
        strategic_merge("Pod", LIVE, {"$deleteFromPrimitiveList/args": ["x"]})


def test_a_json_patch_replaces_lists() -> None:
    """
    Unlike a strategic one, and null removes (RFC 7386).
    """
    assert json_merge({"a": [1, 2], "b": 1}, {"a": [3], "b": None}) == {"a": [3]}


def test_label_selectors_have_all_their_forms() -> None:
    """
    Equality, sets, presence, absence, and all of them together.
    """
    one: Object = {"metadata": {"labels": {"app": "web", "in": "x"}}}
    for selector in ("", "app", "!gone", "app=web", "app==web,in=x", "app!=x", "app in (web,x)", "app notin (x)"):
        assert has_labels(one, selector), selector
    for selector in ("gone", "!app", "app=x", "app in (x)", "app notin (web)", "app=web,gone"):
        assert not has_labels(one, selector), selector


def test_protobuf_of_kinds_that_nobody_sends_is_refused() -> None:
    """
    A Secret is read with its content; a Pod would be read wrong, and is not read at all.
    """

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    def body(kind: bytes, content: bytes) -> bytes:
        return MAGIC + field(1, field(1, b"v1") + field(2, kind)) + field(2, content)

    content = field(1, field(1, b"name") + field(11, field(1, b"a") + field(2, b"b")))
    content += field(2, field(1, b"key") + field(2, b"\x00\xff")) + field(3, b"Opaque")
    assert decode(body(b"Secret", content)) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "name", "labels": {"a": "b"}},
        "data": {"key": "AP8="},
        "type": "Opaque",
    }
    with pytest.raises(UnreadableProtobufError, match="no protobuf of a Pod"):
        decode(body(b"Pod", b""))
