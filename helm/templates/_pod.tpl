{{/* Parts of Pods that the worker, the topics Job and the test share. */}}

{{/* Environment variables hold only secrets. All other settings are in the settings file. */}}
{{- define "shoal.env" -}}
- name: SHOAL_CONFIG
  value: /etc/shoal/settings/settings.yaml
{{- if .Values.insecureDevelopmentSecret }}
- name: SHOAL_PRIVACY__SECRET
  value: {{ printf "for development only: %s" (printf "%s/%s" .Release.Namespace .Release.Name | sha256sum) | quote }}
{{- else }}
{{ include "shoal.secretVariable" (list $ "SHOAL_PRIVACY__SECRET" .Values.pseudonymSecret.existingSecret .Values.pseudonymSecret.key) }}
{{- end }}
{{- with .Values.kafka.credentials }}
{{- if and .existingSecret (include "shoal.isOauth" $) }}
{{- if not $.Values.config.kafka.oauth_client_id }}
{{ include "shoal.secretVariable" (list $ "SHOAL_KAFKA__OAUTH_CLIENT_ID" .existingSecret .clientIdKey) }}
{{- end }}
{{ include "shoal.secretVariable" (list $ "SHOAL_KAFKA__OAUTH_CLIENT_SECRET" .existingSecret .clientSecretKey) }}
{{- else if .existingSecret }}
{{- if not $.Values.config.kafka.sasl_username }}
{{ include "shoal.secretVariable" (list $ "SHOAL_KAFKA__SASL_USERNAME" .existingSecret .usernameKey) }}
{{- end }}
{{ include "shoal.secretVariable" (list $ "SHOAL_KAFKA__SASL_PASSWORD" .existingSecret .passwordKey) }}
{{- end }}
{{- end }}
{{- with .Values.kafka.clientCertificate }}
{{- if and .existingSecret .passwordKey }}
{{ include "shoal.secretVariable" (list $ "SHOAL_KAFKA__SSL_KEY_PASSWORD" .existingSecret .passwordKey) }}
{{- end }}
{{- end }}
{{- with .Values.registry.credentials }}
{{- if and .existingSecret .tokenKey }}
{{ include "shoal.secretVariable" (list $ "SHOAL_REGISTRY__TOKEN" .existingSecret .tokenKey) }}
{{- else if .existingSecret }}
{{- if not $.Values.config.registry.username }}
{{ include "shoal.secretVariable" (list $ "SHOAL_REGISTRY__USERNAME" .existingSecret .usernameKey) }}
{{- end }}
{{ include "shoal.secretVariable" (list $ "SHOAL_REGISTRY__PASSWORD" .existingSecret .passwordKey) }}
{{- end }}
{{- end }}
{{- with .Values.telemetry.credentials }}
{{- if .existingSecret }}
{{ include "shoal.secretVariable" (list $ "SHOAL_TELEMETRY__HEADERS" .existingSecret .headersKey) }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A variable from a Secret: (list $ "NAME" "secret" "key"). Of the topics Job the Secret is optional, so that the Job
     starts without it and its log says what is missing. */}}
{{- define "shoal.secretVariable" -}}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 2 }}
      key: {{ index . 3 }}
      {{- if (index . 0).isTopicsJob }}
      optional: true
      {{- end }}
{{- end -}}

{{- define "shoal.volumeMounts" -}}
- name: settings
  # As a folder: the kubelet does not update a file that is mounted by subPath.
  mountPath: /etc/shoal/settings
  readOnly: true
{{- if .Values.kafka.certificateAuthority.existingSecret }}
- name: certificate-authority
  mountPath: /etc/shoal/certificate-authority
  readOnly: true
{{- end }}
{{- if .Values.kafka.clientCertificate.existingSecret }}
- name: client-certificate
  mountPath: /etc/shoal/client-certificate
  readOnly: true
{{- end }}
{{- if .Values.kafka.serviceAccountToken.enabled }}
- name: token
  mountPath: {{ dir (include "shoal.path.token" .) }}
  readOnly: true
{{- end }}
{{- if .Values.registry.certificateAuthority.existingSecret }}
- name: registry-authority
  mountPath: /etc/shoal/registry-authority
  readOnly: true
{{- end }}
{{- if .Values.telemetry.certificateAuthority.existingSecret }}
- name: telemetry-authority
  mountPath: /etc/shoal/telemetry-authority
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Arguments: the root, and the name of the ConfigMap with the settings. */}}
{{- define "shoal.volumes" -}}
{{- $root := index . 0 -}}
{{- with $root.Values -}}
- name: settings
  configMap:
    name: {{ index $ 1 }}
{{- with .kafka.certificateAuthority }}
{{- if .existingSecret }}
- name: certificate-authority
  secret:
    secretName: {{ .existingSecret }}
    {{- if $root.isTopicsJob }}
    optional: true
    {{- end }}
    items:
      - key: {{ .key }}
        path: {{ .key }}
{{- end }}
{{- end }}
{{- with .kafka.clientCertificate }}
{{- if .existingSecret }}
- name: client-certificate
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    {{- if $root.isTopicsJob }}
    optional: true
    {{- end }}
    items:
      - key: {{ .certificateKey }}
        path: {{ .certificateKey }}
      - key: {{ .privateKeyKey }}
        path: {{ .privateKeyKey }}
{{- end }}
{{- end }}
{{- with .kafka.serviceAccountToken }}
{{- if .enabled }}
- name: token
  projected:
    sources:
      - serviceAccountToken:
          path: {{ base (include "shoal.path.token" $root) }}
          audience: {{ .audience | quote }}
          expirationSeconds: {{ int64 .expirationSeconds }}
{{- end }}
{{- end }}
{{- with .registry.certificateAuthority }}
{{- if .existingSecret }}
- name: registry-authority
  secret:
    secretName: {{ .existingSecret }}
    {{- if $root.isTopicsJob }}
    optional: true
    {{- end }}
    items:
      - key: {{ .key }}
        path: {{ .key }}
{{- end }}
{{- end }}
{{- with .telemetry.certificateAuthority }}
{{- if .existingSecret }}
- name: telemetry-authority
  secret:
    secretName: {{ .existingSecret }}
    {{- if $root.isTopicsJob }}
    optional: true
    {{- end }}
    items:
      - key: {{ .key }}
        path: {{ .key }}
{{- end }}
{{- end }}
{{- with .extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A container that runs `shoal`: (dict "root" $ "name" "x" "args" (list "worker") "resources" (dict)). */}}
{{- define "shoal.container" -}}
{{- $root := .root -}}
- name: {{ .name }}
  image: {{ include "shoal.image" $root | quote }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  args: {{ toJson .args }}
  env:
    {{- include "shoal.env" $root | nindent 4 }}
  {{- with $root.Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  # The last lines of the log become the Pod's status: `kubectl describe pod` shows why a container ended.
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    {{- include "shoal.volumeMounts" $root | nindent 4 }}
{{- end -}}

{{/* Pod options: image pull secrets, security context, names and scheduling. */}}
{{- define "shoal.placement" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with concat (default (list) (default (dict) .Values.global).imagePullSecrets) (default (list) .Values.imagePullSecrets) }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
  {{- end }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.schedulerName }}
schedulerName: {{ . }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
