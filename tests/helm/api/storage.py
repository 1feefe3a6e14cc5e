"""The objects of a cluster: versions of them, who owns whom, what happened, and what was asked for."""

from __future__ import annotations

import copy
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.helm.api.admission import ApiError, admit
from tests.helm.api.apply import Owners
from tests.helm.api.discovery import Resource
from tests.helm.api.workloads import children_of, complete, status_of
from tests.helm.manifests import Object, name_of

__all__ = ["Event", "Key", "Storage", "Write"]

RELEASES = "sh.helm.release.v1."
"""What the names of the Secrets begin with in which Helm keeps its releases."""


class Key(NamedTuple):
    """Where an object is."""

    resource: Resource
    namespace: str
    """Empty for what has none."""

    name: str


class Event(NamedTuple):
    """Something that happened to an object."""

    version: int
    kind: str
    """As watchers see it: `ADDED`, `MODIFIED` or `DELETED`."""

    key: Key
    found: Object


@dataclass(frozen=True, slots=True)
class Write:
    """A request that changed something, or would have."""

    verb: str
    """`create`, `update`, `patch`, `apply` (server-side) or `delete`."""

    kind: str
    name: str
    namespace: str
    dry_run: bool = False

    def __str__(self) -> str:
        """As a test compares it: ``create Job/shoal-topics``."""
        return f"{self.verb} {self.kind}/{self.name}"


@dataclass
class Storage:
    """The objects of one cluster; every method may be called from any thread.

    Args:
        version: Of Kubernetes, ``major.minor``.
        resources: What it offers.
        failing: ``Kind/name`` of what shall not become ready, or shall end in failure.
    """

    version: str
    resources: tuple[Resource, ...]
    failing: set[str]
    writes: list[Write] = field(default_factory=list, init=False)
    """Every write that succeeded, in order; those of Helm's own records and of controllers are left out."""

    _objects: dict[Key, Object] = field(default_factory=dict, init=False)
    _owners: dict[Key, Owners] = field(default_factory=dict, init=False)
    _events: list[Event] = field(default_factory=list, init=False)
    _changed: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()), init=False)
    _version: int = field(default=1, init=False)

    def get(self, key: Key) -> Object:
        """Return a copy of an object.

        Raises:
            ApiError: There is none.
        """
        with self._changed:
            if key not in self._objects:
                raise ApiError(404, "NotFound", f'{key.resource.plural} "{key.name}" not found')
            return copy.deepcopy(self._objects[key])

    def find(self, wanted: Callable[[Key, Object], bool]) -> tuple[list[Object], int]:
        """Return copies of the objects that satisfy a condition, and the version of the whole they are from."""
        with self._changed:
            found = [copy.deepcopy(one) for key, one in self._objects.items() if wanted(key, one)]
            return found, self._version

    def events_since(self, version: int, wait_s: float) -> tuple[list[Event], int]:
        """Return what happened after a version and the version now; waits for something to happen, for a time."""
        with self._changed:
            self._changed.wait_for(lambda: self._version > version, wait_s)
            return [event for event in self._events if event.version > version], self._version

    def write(
        self,
        key: Key,
        verb: str,
        change: Callable[[Object | None, Owners], Object],
        *,
        dry_run: bool = False,
    ) -> tuple[Object, bool]:
        """Change an object, or make it, and let controllers do their part.

        Args:
            key: Where it is.
            verb: For :attr:`writes`.
            change: Gets the object as it is, or None, and who owns its fields; returns it as it shall be.
            dry_run: Check everything, keep nothing.

        Returns:
            The object, and whether it is new.

        Raises:
            ApiError: It is not admitted, or somebody else changed it meanwhile.
        """
        with self._changed:
            before = self._objects.get(key)
            if before is None:
                self._check_namespace(key)
            owners = copy.deepcopy(self._owners.get(key, {}))
            after = change(copy.deepcopy(before), owners)
            self._check_version(key, before, after)
            after.pop("status", None)
            # Clients send back what they were given; the server decides about these itself.
            metadata = {**after["metadata"], "name": key.name}
            for chosen in ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"):
                metadata.pop(chosen, None)
            if key.namespace:
                metadata["namespace"] = key.namespace
            after["metadata"] = metadata
            if before is None and key.resource.kind == "Pod":
                self._check_account(key, after)
            complete(after, before, f"10.96.0.{self._version % 250 + 1}")
            admit(before, after, self.version)
            after = self._stamped(key, before, after)
            if not dry_run:
                self._owners[key] = owners
                self._keep(key, before, after)
            self._note(Write(verb, key.resource.kind, key.name, key.namespace, dry_run))
            return copy.deepcopy(after), before is None

    def delete(self, key: Key, *, propagation: str | None, dry_run: bool = False) -> Object:
        """Delete an object and, unless told to orphan them, what its controller made of it.

        Raises:
            ApiError: There is none.
        """
        with self._changed:
            found = self.get(key)
            if dry_run:
                self._note(Write("delete", key.resource.kind, key.name, key.namespace, dry_run))
                return found
            owned = [other for other, one in self._objects.items() if self._is_owned(one, found)]
            if key.resource.kind == "Namespace":
                owned = [other for other in self._objects if other.namespace == key.name]
            for other in owned if propagation == "Foreground" else ():
                self._remove(other)
            self._remove(key)
            for other in owned if propagation != "Foreground" else ():
                if propagation == "Orphan":
                    self._objects[other]["metadata"].pop("ownerReferences")
                else:
                    self._remove(other)
            self._note(Write("delete", key.resource.kind, key.name, key.namespace))
            return found

    def _check_namespace(self, key: Key) -> None:
        names = {other.name for other in self._objects if other.resource.kind == "Namespace"}
        if key.namespace and key.namespace not in names:
            raise ApiError(404, "NotFound", f'namespaces "{key.namespace}" not found')

    def _check_account(self, key: Key, pod: Object) -> None:
        name = pod["spec"].get("serviceAccountName", "default")
        accounts = {(one.namespace, one.name) for one in self._objects if one.resource.kind == "ServiceAccount"}
        if name != "default" and (key.namespace, name) not in accounts:
            message = f'pods "{key.name}" is forbidden: error looking up service account {key.namespace}/{name}'
            raise ApiError(403, "Forbidden", message)

    @staticmethod
    def _check_version(key: Key, before: Object | None, after: Object) -> None:
        wanted = after["metadata"].get("resourceVersion")
        if before is not None and wanted not in (None, "", before["metadata"]["resourceVersion"]):
            message = (
                f'Operation cannot be fulfilled on {key.resource.plural} "{key.name}": the object has been modified'
            )
            raise ApiError(409, "Conflict", message)

    def _stamped(self, key: Key, before: Object | None, after: Object) -> Object:
        metadata = after["metadata"]
        if before is None:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now, "generation": 1}
        else:
            old = before["metadata"]
            metadata |= {name: old[name] for name in ("uid", "creationTimestamp", "resourceVersion")}
            metadata["generation"] = old["generation"] + (before.get("spec") != after.get("spec"))
        status = status_of(after, fails=self._fails(after))
        return after | ({} if status is None else {"status": status})

    def _fails(self, one: Object) -> bool:
        names = [f"{owner['kind']}/{owner['name']}" for owner in one["metadata"].get("ownerReferences") or ()]
        return bool(self.failing & {name_of(one), *names})

    def _keep(self, key: Key, before: Object | None, after: Object) -> None:
        if before is not None and _bare(before) == _bare(after):
            return  # as in a cluster, a change of nothing is none
        self._version += 1
        after["metadata"]["resourceVersion"] = str(self._version)
        self._objects[key] = after
        self._happened("MODIFIED" if before else "ADDED", key, after)
        for child in children_of(after):
            of = next(one for one in self.resources if one.kind == child["kind"])
            below = Key(of, key.namespace, child["metadata"]["name"])
            old = self._objects.get(below)
            self._keep(below, old, self._stamped(below, old, child))

    def _remove(self, key: Key) -> None:
        found = self._objects.pop(key)
        self._owners.pop(key, None)
        self._version += 1
        found["metadata"]["resourceVersion"] = str(self._version)
        self._happened("DELETED", key, found)

    def _happened(self, kind: str, key: Key, found: Object) -> None:
        self._events.append(Event(self._version, kind, key, copy.deepcopy(found)))
        self._changed.notify_all()

    def _note(self, write: Write) -> None:
        if not write.name.startswith(RELEASES):
            self.writes.append(write)

    @staticmethod
    def _is_owned(one: Object, owner: Object) -> bool:
        references = one["metadata"].get("ownerReferences") or ()
        return any(each["uid"] == owner["metadata"]["uid"] for each in references)

    def kept(self) -> Iterator[Object]:
        """Return copies of what clients have made and not deleted, without Helm's own records."""
        found, _ = self.find(lambda key, _: not key.name.startswith(RELEASES) and key.resource.kind != "Namespace")
        yield from (one for one in found if not one["metadata"].get("ownerReferences"))


def _bare(one: Object) -> dict[str, Any]:
    return one | {"metadata": {key: value for key, value in one["metadata"].items() if key != "resourceVersion"}}
