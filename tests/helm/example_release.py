"""A release with every kind the checks know, with nothing wrong; and the same with one thing changed."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from tests.helm.manifests import Object, load, name_of

__all__ = ["EXTERNAL", "GONE", "changed", "release"]

GONE = object()
"""As a value, takes a field away."""

EXTERNAL = frozenset({"Secret/outside"})
"""What the release refers to without having it."""

_POD = """
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: main
        image: registry.example/main:1
        securityContext: &strict {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
"""

_RELEASE = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, labels: {{app: web, app.kubernetes.io/version: "1.2.3"}}}}
spec:
  strategy: {{type: Recreate}}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}, annotations: {{checksum: abc}}}}
    spec:
      serviceAccountName: web
      imagePullSecrets: [{{name: outside}}]
      {_POD.strip()}
        ports: [{{name: http, containerPort: 8080}}, {{name: other, containerPort: 8081}}]
        livenessProbe: {{httpGet: {{port: http, path: /live}}}}
        lifecycle: {{preStop: {{exec: {{command: [sleep, "1"]}}}}}}
        envFrom: [{{configMapRef: {{name: settings}}}}, {{secretRef: {{name: absent, optional: true}}}}]
        env:
        - {{name: COLOR, valueFrom: {{configMapKeyRef: {{name: settings, key: color}}}}}}
        - {{name: PASSWORD, valueFrom: {{secretKeyRef: {{name: passwords, key: kafka}}}}}}
        volumeMounts:
        - {{name: scratch, mountPath: /tmp}}
        - {{name: all, mountPath: /all}}
        - {{name: disk, mountPath: /disk}}
      initContainers:
      - {{name: first, image: "registry.example/first:1", securityContext: *strict}}
      volumes:
      - {{name: scratch, emptyDir: {{}}}}
      - name: all
        projected:
          sources:
          - secret: {{name: passwords, items: [{{key: kafka, path: k}}]}}
          - configMap: {{name: settings}}
      - {{name: disk, persistentVolumeClaim: {{claimName: disk}}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: store}}
spec:
  serviceName: web
  replicas: 2
  selector: {{matchExpressions: [{{key: app, operator: In, values: [store]}}]}}
  template:
    metadata: {{labels: {{app: store}}}}
    spec:{_POD.rstrip()}
        volumeMounts: [{{name: data, mountPath: /data}}]
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: topics, annotations: {{helm.sh/hook: pre-install}}}}
spec:
  template:
    metadata: {{labels: {{app: topics}}}}
    spec:
      restartPolicy: Never
      {_POD.strip()}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: nightly}}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          {_POD.strip().replace(chr(10), chr(10) + "    ")}
---
apiVersion: v1
kind: Service
metadata: {{name: web, labels: {{app: web}}}}
spec: {{selector: {{app: web}}, ports: [{{name: http, port: 80, targetPort: http}}, {{name: two, port: 8081}}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data: {{color: blue}}
---
apiVersion: v1
kind: Secret
metadata: {{name: passwords}}
stringData: {{kafka: secret}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: web}}
imagePullSecrets: [{{name: outside}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: disk}}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: "web:reader"}}
rules: [{{apiGroups: [""], resources: [pods], verbs: [get]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: web}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: "web:reader"}}
subjects: [{{kind: ServiceAccount, name: web}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web}}
spec: {{maxUnavailable: 1, selector: {{matchLabels: {{app: web}}}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: web}}
spec:
  podSelector: {{matchLabels: {{app: web}}}}
  policyTypes: [Ingress, Egress]
  ingress: [{{from: [{{podSelector: {{}}}}], ports: [{{port: http}}, {{port: 8081}}]}}]
  egress: [{{}}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: web}}
spec:
  tls: [{{hosts: [web.example], secretName: outside}}]
  rules:
  - host: web.example
    http:
      paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: web, port: {{name: http}}}}}}}}]
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  endpoints:
  - port: http
    params: {{free: [form]}}
    relabelings: [{{sourceLabels: [__name__], targetLabel: name, action: replace}}]
    tlsConfig: {{ca: {{secret: {{name: passwords, key: kafka}}}}, insecureSkipVerify: false}}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  podMetricsEndpoints: [{{port: other, interval: 15s}}]
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {{name: web}}
spec:
  groups:
  - name: web
    rules:
    - {{alert: Down, expr: up == 0, for: 5m, labels: {{any: thing}}, annotations: {{runbook_url: here}}}}
    - {{record: one, expr: 1}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {{name: web}}
spec:
  scaleTargetRef: {{name: web}}
  minReplicaCount: 1
  advanced: {{horizontalPodAutoscalerConfig: {{behavior: {{scaleDown: {{stabilizationWindowSeconds: 600}}}}}}}}
  triggers: [{{type: kafka, metadata: {{lagThreshold: "10", any: thing}}, authenticationRef: {{name: kafka}}}}]
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {{name: kafka}}
spec: {{secretTargetRef: [{{parameter: password, name: passwords, key: kafka}}]}}
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata: {{name: web, labels: {{strimzi.io/cluster: kafka}}}}
spec: {{partitions: 3, replicas: 1, topicName: Web, config: {{retention.ms: "1000"}}}}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {{name: web, labels: {{strimzi.io/cluster: kafka}}}}
spec:
  authentication: {{type: tls}}
  authorization:
    type: simple
    acls: [{{resource: {{type: topic, name: Web, patternType: prefix}}, operations: [Read, Write]}}]
"""


def release() -> list[Object]:
    """Return the objects of the release, for the caller to change."""
    return copy.deepcopy(_loaded())


@cache
def _loaded() -> list[Object]:
    return load(_RELEASE)


def changed(where: str, value: Any) -> list[Object]:
    """Return the release with one field set, or taken away with :data:`GONE`.

    Args:
        where: ``Kind/name`` and a path, such as ``Deployment/web spec.template.spec.containers.0.name``. In a key
            with dots they are written as ``%``. Without a path, the object is replaced, or taken away.
        value: What it becomes.
    """
    objects = release()
    name, _, path = where.partition(" ")
    number = next(at for at, one in enumerate(objects) if name_of(one) == name)
    if not path:
        return [*objects[:number], *([] if value is GONE else [value]), *objects[number + 1 :]]
    *above, last = path.split(".")
    target: Any = objects[number]
    for part in above:
        target = target[int(part)] if isinstance(target, list) else target.setdefault(part.replace("%", "."), {})
    key = int(last) if isinstance(target, list) else last.replace("%", ".")
    if value is GONE:
        del target[key]
    else:
        target[key] = value
    return objects
