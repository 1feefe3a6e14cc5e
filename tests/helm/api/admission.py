"""What the API server turns away."""

from __future__ import annotations

from tests.helm.immutable import immutable_changes, immutable_fields_of
from tests.helm.manifests import Object, name_of
from tests.helm.pods import CONTROLLERS, matches
from tests.helm.schemas import problems

__all__ = ["ApiError", "admit"]


class ApiError(Exception):
    """A request that fails, as the server answers it.

    Args:
        code: The status of HTTP.
        reason: Kubernetes' word for it, by which clients decide what to do.
        message: For people.
    """

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason

    def status(self) -> Object:
        """Return the body of the answer."""
        failure = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": self.code}
        return failure | {"reason": self.reason, "message": str(self), "details": {}}


def admit(before: Object | None, after: Object, version: str) -> None:
    """Check what an object would become.

    Args:
        before: The object as it is, None if there is none.
        after: The object as it would be, without a status.
        version: Of Kubernetes, ``major.minor``.

    Raises:
        ApiError: It would not be valid, or a field changes that may not.
    """
    found = problems([after], version)
    if not found and after["kind"] in CONTROLLERS:
        labels = (after["spec"]["template"].get("metadata") or {}).get("labels") or {}
        if not matches(after["spec"]["selector"], labels):
            found = ["`selector` does not match template `labels`"]
    if not found and before is not None:
        name = name_of(after)
        changes = immutable_changes({name: immutable_fields_of(before)}, {name: immutable_fields_of(after)})
        found = [f"field is immutable: {change}" for change in changes]
    if found:
        raise ApiError(422, "Invalid", f"{name_of(after)} is invalid: {'; '.join(found)}")
