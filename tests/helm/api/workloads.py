"""What the controllers of a cluster would do to an object, done at once: addresses, statuses, children."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

from tests.helm.manifests import Object

__all__ = ["children_of", "complete", "status_of"]


def complete(one: Object, before: Object | None, address: str) -> None:
    """Fill in what the server chooses itself: the addresses of a Service, which an update leaves as they are, and what
    clients take for granted."""
    if one["kind"] == "Secret":
        one.setdefault("type", "Opaque")
    if one["kind"] == "Deployment":
        one["spec"].setdefault("replicas", 1)  # Helm 3 looks at it
    if one["kind"] != "Service" or one["spec"].get("type") == "ExternalName":
        return
    for field, chosen in (("clusterIP", address), ("clusterIPs", [one["spec"].get("clusterIP") or address])):
        had = before["spec"].get(field) if before else None
        one["spec"].setdefault(field, had or chosen)


def status_of(one: Object, *, fails: bool) -> Object | None:  # noqa: PLR0911 - a table of kinds
    """Return the status an object reaches, ready and done unless it is to fail; None for kinds without one."""
    spec: Object = one.get("spec") or {}
    seen = {"observedGeneration": one["metadata"]["generation"]}
    wanted = spec.get("replicas", 1)
    ready = 0 if fails else wanted
    counts = {"replicas": wanted, "updatedReplicas": wanted, "readyReplicas": ready, "availableReplicas": ready}
    match one["kind"]:
        case "Deployment":
            reason = "ReplicaSetUpdated" if fails else "NewReplicaSetAvailable"
            conditions = [_condition("Available", not fails), _condition("Progressing", True, reason)]
            return seen | counts | {"unavailableReplicas": wanted - ready, "conditions": conditions}
        case "ReplicaSet":
            return seen | {"replicas": wanted, "readyReplicas": ready, "availableReplicas": ready}
        case "StatefulSet":
            revisions = {"currentRevision": "1", "updateRevision": "1", "currentReplicas": wanted}
            return seen | counts | revisions
        case "DaemonSet":
            nodes = {"desiredNumberScheduled": 1, "currentNumberScheduled": 1, "updatedNumberScheduled": 1}
            nodes |= {"numberReady": int(not fails), "numberAvailable": int(not fails), "numberMisscheduled": 0}
            return seen | nodes
        case "Job" if fails:
            return {"failed": 1, "conditions": [_condition("Failed", True, "BackoffLimitExceeded")]}
        case "Job":
            return {"succeeded": 1, "conditions": [_condition("Complete", True)]}
        case "Pod" if fails:
            return {"phase": "Failed", "conditions": [_condition("Ready", False)]}
        case "Pod":
            ends = spec.get("restartPolicy") in ("Never", "OnFailure")
            return {"phase": "Succeeded" if ends else "Running", "conditions": [_condition("Ready", not ends)]}
        case "PersistentVolumeClaim":
            return {"phase": "Bound"}
        case "PodDisruptionBudget":
            healthy = {"currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 1}
            return seen | healthy
        case "Service":
            outside = [{"ip": "192.0.2.1"}] if spec.get("type") == "LoadBalancer" else []
            return {"loadBalancer": {"ingress": outside} if outside else {}}
        case "Namespace":
            return {"phase": "Active"}
    return None


def _condition(kind: str, holds: bool, reason: str = "AsTold") -> Object:
    return {"type": kind, "status": str(holds), "reason": reason, "message": reason}


def children_of(one: Object) -> list[Object]:
    """Return the objects that controllers make of one: a Deployment's ReplicaSet, a Job's Pod.

    Helm waits for the former, and prints the log of the latter.
    """
    name, kind = one["metadata"]["name"], one["kind"]
    if kind not in ("Deployment", "Job"):
        return []
    template = copy.deepcopy(one["spec"]["template"])
    digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]
    added = {"pod-template-hash": digest} if kind == "Deployment" else {"job-name": name}
    labels = (template.get("metadata") or {}).get("labels") or {}
    template["metadata"] = {**(template.get("metadata") or {}), "labels": labels | added}
    owner = {"apiVersion": one["apiVersion"], "kind": kind, "name": name, "uid": one["metadata"]["uid"]}
    metadata: dict[str, Any] = {
        "name": f"{name}-{digest}",
        "namespace": one["metadata"]["namespace"],
        "labels": labels | added,
        "ownerReferences": [owner | {"controller": True}],
    }
    if kind == "Job":
        return [{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}]
    selector = {"matchLabels": {**(one["spec"]["selector"].get("matchLabels") or {}), **added}}
    spec = {"replicas": one["spec"].get("replicas", 1), "selector": selector, "template": template}
    return [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}]
