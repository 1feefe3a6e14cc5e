"""The resources of Strimzi, version v1beta2 and v1, as far as the chart uses them.

Strimzi's definitions are in no package. These models are written by hand, and a test compares them with Strimzi's own
classes (:mod:`tests.helm.strimzi.classes`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["KafkaTopic", "KafkaUser"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Labels(_Strict):
    cluster: Annotated[str, Field(alias="strimzi.io/cluster", min_length=1)]
    """Without it no operator looks at the resource."""

    model_config = ConfigDict(extra="allow")


class _Metadata(_Strict):
    labels: _Labels
    name: str
    namespace: str | None = None
    annotations: dict[str, str] = {}


class _Resource(_Strict):
    apiVersion: Literal["kafka.strimzi.io/v1beta2", "kafka.strimzi.io/v1"]  # noqa: N815 - Kubernetes' name
    kind: str
    metadata: _Metadata
    status: dict[str, Any] = {}


class _TopicSpec(_Strict):
    partitions: Annotated[int, Field(ge=1)]
    replicas: Annotated[int, Field(ge=1, le=32_767)]
    config: dict[str, str] = {}
    topicName: str | None = None  # noqa: N815 - Strimzi's name


class KafkaTopic(_Resource):
    """A topic."""

    spec: _TopicSpec


class _AclResource(_Strict):
    type: Literal["topic", "group", "cluster", "transactionalId"]
    name: str
    patternType: Literal["literal", "prefix"]  # noqa: N815 - Strimzi's name


class _Acl(_Strict):
    resource: _AclResource
    operations: Annotated[list[Literal["Read", "Write", "Create", "Describe", "DescribeConfigs"]], Field(min_length=1)]


class _Authorization(_Strict):
    type: Literal["simple"]
    acls: list[_Acl]


class _Authentication(_Strict):
    type: Literal["tls", "tls-external", "scram-sha-512"]


class _UserSpec(_Strict):
    authentication: _Authentication
    authorization: _Authorization


class KafkaUser(_Resource):
    """A user and its rights."""

    spec: _UserSpec
