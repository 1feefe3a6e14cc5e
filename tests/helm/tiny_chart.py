"""A chart just large enough to try the harness on, and to break in every way it has to notice."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_chart"]

_CHART = """\
apiVersion: v2
name: tiny
version: {version}
appVersion: "1"
"""

_VALUES = """\
replicas: 2
image: registry.example/tiny:1
color: blue
selector: tiny
"""

_HELPERS = """\
{{- define "tiny.labels" -}}
app.kubernetes.io/name: {{ .Values.selector }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "tiny.pod" -}}
automountServiceAccountToken: false
securityContext: {runAsNonRoot: true, runAsUser: 10001, seccompProfile: {type: RuntimeDefault}}
{{- end }}
{{- define "tiny.container" -}}
image: {{ .Values.image }}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end }}
"""

_TEMPLATES = {
    "configmap": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data: {color: {{ .Values.color }}}
""",
    "deployment": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "tiny.labels" . | nindent 4 }}
    helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
spec:
  {{- if .Values.replicas }}
  replicas: {{ .Values.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "tiny.labels" . | nindent 6 }}
      app.kubernetes.io/component: server
  template:
    metadata:
      labels: {{- include "tiny.labels" . | nindent 8 }}
        app.kubernetes.io/component: server
    spec:
      {{- include "tiny.pod" . | nindent 6 }}
      containers:
      - name: server
        {{- include "tiny.container" . | nindent 8 }}
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {port: http, path: /ready}}
        env:
        - name: COLOR
          valueFrom: {configMapKeyRef: {name: {{ .Release.Name }}-settings, key: color}}
        volumeMounts: [{name: scratch, mountPath: /tmp}]
      volumes: [{name: scratch, emptyDir: {}}]
""",
    "service": """\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "tiny.labels" . | nindent 4 }}
spec:
  selector: {{- include "tiny.labels" . | nindent 4 }}
    app.kubernetes.io/component: server
  ports: [{name: http, port: 80, targetPort: http}]
""",
    "hook": """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-before
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app.kubernetes.io/component: before}}
    spec:
      restartPolicy: Never
      {{- include "tiny.pod" . | nindent 6 }}
      containers:
      - name: before
        {{- include "tiny.container" . | nindent 8 }}
""",
    "test": """\
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-test
  labels: {app.kubernetes.io/component: test}
  annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: before-hook-creation}
spec:
  restartPolicy: Never
  {{- include "tiny.pod" . | nindent 2 }}
  containers:
  - name: test
    {{- include "tiny.container" . | nindent 4 }}
""",
    "monitor": """\
{{- if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PodMonitor" }}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: {{ .Release.Name }}}
spec:
  selector:
    matchLabels: {{- include "tiny.labels" . | nindent 6 }}
      app.kubernetes.io/component: server
  podMetricsEndpoints: [{port: http, interval: 30s}]
{{- end }}
""",
}


def write_chart(folder: Path, *, version: str = "1.0.0") -> Path:
    """Write the chart into a folder and return the folder.

    It has a ConfigMap, a Deployment, a Service, a PodMonitor where there can be one, a Job before installation and
    upgrade, and a Pod as its test. Its values are ``replicas``, ``image``, ``color`` and ``selector``.
    """
    templates = folder / "templates"
    templates.mkdir(parents=True, exist_ok=True)
    (folder / "Chart.yaml").write_text(_CHART.format(version=version), encoding="utf-8")
    (folder / "values.yaml").write_text(_VALUES, encoding="utf-8")
    (templates / "_helpers.tpl").write_text(_HELPERS, encoding="utf-8")
    for name, content in _TEMPLATES.items():
        (templates / f"{name}.yaml").write_text(content, encoding="utf-8")
    return folder
