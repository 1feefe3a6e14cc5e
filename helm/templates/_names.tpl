{{/* Names and labels. Selector labels never contain a version, because a selector cannot change. */}}

{{- define "shoal.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Cut to 50 characters, so that the longest suffix still fits. */}}
{{- define "shoal.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The name in a namespace, also in one that releases of other namespaces use: (list $ "monitoring"). */}}
{{- define "shoal.nameIn" -}}
{{- $root := index . 0 -}}
{{- $namespace := default $root.Release.Namespace (index . 1) -}}
{{- if ne $namespace $root.Release.Namespace }}{{ $root.Release.Namespace }}-{{ end -}}
{{- include "shoal.fullname" $root -}}
{{- end -}}

{{- define "shoal.selectorLabels" -}}
app.kubernetes.io/name: {{ include "shoal.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "shoal.workerLabels" -}}
{{ include "shoal.selectorLabels" . }}
app.kubernetes.io/component: worker
{{- end -}}

{{/* Arguments: the root, a component or "", and more labels: (list $ "topics" .Values.x.labels). */}}
{{- define "shoal.labels" -}}
{{- $root := index . 0 -}}
{{- $global := default (dict) $root.Values.global -}}
{{- $given := merge (dict) (default (dict) (index . 2)) (default (dict) $root.Values.commonLabels) (default (dict) $global.commonLabels) -}}
{{- $own := include "shoal.selectorLabels" $root | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" ($root.Chart.AppVersion | toString) -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- if index . 1 }}{{ $_ := set $own "app.kubernetes.io/component" (index . 1) }}{{ end -}}
{{- toYaml (merge $own $given) -}}
{{- end -}}

{{/* Labels for Pods, without the chart's version: a new chart with the same image restarts no Pod. */}}
{{- define "shoal.podLabels" -}}
{{- omit (include "shoal.labels" . | fromYaml) "helm.sh/chart" "app.kubernetes.io/managed-by" | toYaml -}}
{{- end -}}

{{/* Name, namespace, labels and annotations: (dict "root" $ "suffix" "-x" "component" "x" "labels" (dict) "annotations" (dict)).
     `name` and `namespace`, if given, replace the release's. */}}
{{- define "shoal.metadata" -}}
{{- $root := .root -}}
name: {{ default (include "shoal.fullname" $root) .name }}{{ .suffix }}
namespace: {{ default $root.Release.Namespace .namespace }}
labels:
  {{- include "shoal.labels" (list $root (default "" .component) .labels) | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) (default (dict) $root.Values.commonAnnotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A regular expression that matches the names of this release's worker Pods only. Kubernetes names them NAME-HASH-RANDOM:
     the hash has at most 10 characters, the random part 5. NAME-HASH- is cut to 58 characters, so the dash may be missing. */}}
{{- define "shoal.podPattern" -}}
{{- $name := include "shoal.fullname" . -}}
{{- $whole := "[a-z0-9]{1,10}-[a-z0-9]{5}" -}}
{{- if le (len $name) 46 -}}{{ printf "%s-%s" $name $whole }}
{{- else -}}{{ printf "%s-(%s|[a-z0-9]{%d})" $name $whole (sub 62 (len $name)) }}
{{- end -}}
{{- end -}}

{{- define "shoal.serviceAccountName" -}}
{{- default (ternary (include "shoal.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "shoal.image" -}}
{{- $registry := default .Values.image.registry (default (dict) .Values.global).imageRegistry -}}
{{- with $registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end -}}
{{- end -}}
