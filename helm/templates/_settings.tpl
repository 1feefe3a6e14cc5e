{{/* The workers' settings file, and checks of settings against other values. */}}

{{- define "shoal.path.certificateAuthority" -}}/etc/shoal/certificate-authority/{{ .Values.kafka.certificateAuthority.key }}{{- end -}}
{{- define "shoal.path.certificate" -}}/etc/shoal/client-certificate/{{ .Values.kafka.clientCertificate.certificateKey }}{{- end -}}
{{- define "shoal.path.privateKey" -}}/etc/shoal/client-certificate/{{ .Values.kafka.clientCertificate.privateKeyKey }}{{- end -}}
{{- define "shoal.path.registryAuthority" -}}/etc/shoal/registry-authority/{{ .Values.registry.certificateAuthority.key }}{{- end -}}
{{- define "shoal.path.telemetryAuthority" -}}/etc/shoal/telemetry-authority/{{ .Values.telemetry.certificateAuthority.key }}{{- end -}}
{{- define "shoal.path.token" -}}/var/run/secrets/shoal/token{{- end -}}

{{/* `config`, with the paths of mounted files. Helm removes a value that is set to null, and the worker would use its
     default. So null is written to the settings file, and the worker accepts or refuses it. */}}
{{- define "shoal.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- range $section, $names := .Files.Get "files/settings.yaml" | fromYaml -}}
{{- range $names -}}
{{- if not (hasKey (get $config $section) .) }}{{ $_ := set (get $config $section) . nil }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if .Values.kafka.certificateAuthority.existingSecret -}}
{{- $_ := set $config.kafka "ssl_cafile" (include "shoal.path.certificateAuthority" .) -}}
{{- end -}}
{{- if .Values.kafka.clientCertificate.existingSecret -}}
{{- $_ := set $config.kafka "ssl_certfile" (include "shoal.path.certificate" .) -}}
{{- $_ := set $config.kafka "ssl_keyfile" (include "shoal.path.privateKey" .) -}}
{{- end -}}
{{- if .Values.kafka.serviceAccountToken.enabled -}}
{{- $_ := set $config.kafka "oauth_token_file" (include "shoal.path.token" .) -}}
{{- end -}}
{{- if .Values.registry.certificateAuthority.existingSecret -}}
{{- $_ := set $config.registry "cafile" (include "shoal.path.registryAuthority" .) -}}
{{- end -}}
{{- if .Values.telemetry.certificateAuthority.existingSecret -}}
{{- $_ := set $config.telemetry "cafile" (include "shoal.path.telemetryAuthority" .) -}}
{{- end -}}
{{- include "shoal.yaml" $config | trim -}}
{{- end -}}

{{/* YAML of a map. Helm reads every number as a float, and `toYaml` would write 5000000 as 5e+06, which is not a number in
     YAML 1.1. Empty sections are left out. Names are quoted, because YAML 1.1 reads `no` as false. */}}
{{- define "shoal.yaml" -}}
{{- range $name, $value := . }}
{{- if kindIs "map" $value }}
{{- with include "shoal.yaml" $value | trim }}
{{ toJson $name }}:
  {{- . | nindent 2 }}
{{- end }}
{{- else if and (kindIs "float64" $value) (eq (floor $value) $value) }}
{{ toJson $name }}: {{ int64 $value }}
{{- else }}
{{ toJson $name }}: {{ toJson $value }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A duration such as 20s in whole seconds, rounded up. */}}
{{- define "shoal.seconds" -}}
{{- $text := . | toString | nospace -}}
{{- $number := regexFind "^[0-9]+" $text | int64 -}}
{{- $unit := regexReplaceAll "^[0-9]+" $text "" -}}
{{- if eq $unit "ms" -}}{{ divf $number 1000 | ceil | int64 }}
{{- else -}}{{ mul $number (get (dict "" 1 "s" 1 "m" 60 "h" 3600 "d" 86400 "w" 604800) $unit) }}
{{- end -}}
{{- end -}}

{{- define "shoal.gracePeriodSeconds" -}}
{{- $worker := include "shoal.seconds" .Values.config.worker.grace_period | int64 -}}
{{- $given := .Values.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $given -}}{{ add $worker 10 }}
{{- else if lt (int64 $given) $worker -}}
{{- fail (printf "terminationGracePeriodSeconds is %d: it must be at least config.worker.grace_period, %s, or a worker could be killed before it has finished a window" (int64 $given) .Values.config.worker.grace_period) -}}
{{- else -}}{{ int64 $given }}
{{- end -}}
{{- end -}}

{{- define "shoal.isSasl" -}}{{ if hasPrefix "SASL" (toString .Values.config.kafka.security_protocol) }}true{{ end }}{{- end -}}
{{- define "shoal.isTls" -}}{{ if hasSuffix "SSL" (toString .Values.config.kafka.security_protocol) }}true{{ end }}{{- end -}}
{{- define "shoal.isOauth" -}}{{ if and (include "shoal.isSasl" .) (eq (toString .Values.config.kafka.sasl_mechanism) "OAUTHBEARER") }}true{{ end }}{{- end -}}
{{/* Whether the token comes from a file: the ServiceAccount's token, or config.kafka.oauth_token_file. */}}
{{- define "shoal.hasTokenFile" -}}{{ if or .Values.kafka.serviceAccountToken.enabled .Values.config.kafka.oauth_token_file }}true{{ end }}{{- end -}}
{{/* Whether a host is a loopback address, which only the Pod itself can reach. */}}
{{- define "shoal.isLoopback" -}}{{ if regexMatch "^(127\\.[0-9.]+|localhost|::1)$" (lower (toString .)) }}true{{ end }}{{- end -}}
{{/* Whether the page can be reached from outside the Pod. */}}
{{- define "shoal.servesPage" -}}{{ if and .Values.config.web.page (not (include "shoal.isLoopback" .Values.config.web.host)) }}true{{ end }}{{- end -}}
{{- define "shoal.isScaled" -}}{{ if or .Values.autoscaling.hpa.enabled .Values.autoscaling.keda.enabled }}true{{ end }}{{- end -}}

{{/* The largest useful number of workers: one for each partition. */}}
{{- define "shoal.maxReplicas" -}}
{{- $partitions := int64 .Values.config.kafka.partitions -}}
{{- $given := .Values.autoscaling.maxReplicas -}}
{{- $max := ternary $partitions (int64 $given) (kindIs "invalid" $given) -}}
{{- if and $partitions (gt $max $partitions) -}}
{{- fail (printf "autoscaling.maxReplicas is %d: it must be at most config.kafka.partitions, %d, because each partition has one worker and more workers would be idle" $max $partitions) -}}
{{- end -}}
{{- if and $max (lt $max (int64 .Values.autoscaling.minReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas is %d: it must be at most %d, autoscaling.maxReplicas or config.kafka.partitions" (int64 .Values.autoscaling.minReplicas) $max) -}}
{{- end -}}
{{- $max -}}
{{- end -}}

{{/* How workers are replaced, so that Helm 3 waits for them. It expects all workers but `maxUnavailable` to be ready, which
     is none where one may be away of one. A rolling update that stops the only worker first does what `Recreate` does.
     An autoscaler may begin with one: there a new worker is ready before an old one leaves. Both numbers are always
     written: those that the API server fills in would stand in the way of a later `Recreate`. */}}
{{- define "shoal.strategy" -}}
{{- $given := default (dict) .Values.updateStrategy.rollingUpdate -}}
{{- if eq .Values.updateStrategy.type "Recreate" -}}
type: Recreate
{{- else -}}
{{- $isScaled := eq (include "shoal.isScaled" .) "true" -}}
{{- $surge := ternary (ternary 1 0 $isScaled) $given.maxSurge (kindIs "invalid" $given.maxSurge) -}}
{{- $away := ternary (ternary 0 1 $isScaled) $given.maxUnavailable (kindIs "invalid" $given.maxUnavailable) -}}
{{- $isOne := or (kindIs "invalid" .Values.replicas) (eq (int64 .Values.replicas) 1) -}}
{{- if and $isOne (not $isScaled) (has (toString $surge) (list "0" "0%")) -}}
type: Recreate
{{- else -}}
type: RollingUpdate
rollingUpdate:
  maxSurge: {{ $surge }}
  maxUnavailable: {{ $away }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Secrets with which KEDA logs in to Kafka, those of the workers; empty if it needs none. */}}
{{- define "shoal.kedaSecrets" -}}
{{- with .Values.kafka.credentials }}
{{- if .existingSecret }}
- {parameter: username, name: {{ .existingSecret }}, key: {{ .usernameKey }}}
- {parameter: password, name: {{ .existingSecret }}, key: {{ .passwordKey }}}
{{- end }}
{{- end }}
{{- with .Values.kafka.certificateAuthority }}
{{- if .existingSecret }}
- {parameter: ca, name: {{ .existingSecret }}, key: {{ .key }}}
{{- end }}
{{- end }}
{{- with .Values.kafka.clientCertificate }}
{{- if .existingSecret }}
- {parameter: cert, name: {{ .existingSecret }}, key: {{ .certificateKey }}}
- {parameter: key, name: {{ .existingSecret }}, key: {{ .privateKeyKey }}}
{{- if .passwordKey }}
- {parameter: keyPassword, name: {{ .existingSecret }}, key: {{ .passwordKey }}}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
