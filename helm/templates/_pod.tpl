{{/* Parts of Pods that the worker, the topics Job and the test share. */}}

{{/* What Pods take from Secrets, as a YAML list. Names are no secrets, and no setting names a file with one. */}}
{{- define "shoal.secrets" -}}
{{- if not .Values.insecureDevelopmentSecret }}
{{- with .Values.pseudonymSecret }}
- {variable: SHOAL_PRIVACY__SECRET, secret: {{ toJson .existingSecret }}, key: {{ toJson .key }}}
{{- end }}
{{- end }}
{{- with .Values.kafka.credentials }}
{{- if and .existingSecret (include "shoal.isOauth" $) }}
{{- if not $.Values.config.kafka.oauth_client_id }}
- {variable: SHOAL_KAFKA__OAUTH_CLIENT_ID, secret: {{ toJson .existingSecret }}, key: {{ toJson .clientIdKey }}, isName: true}
{{- end }}
- {variable: SHOAL_KAFKA__OAUTH_CLIENT_SECRET, secret: {{ toJson .existingSecret }}, key: {{ toJson .clientSecretKey }}}
{{- else if .existingSecret }}
{{- if not $.Values.config.kafka.sasl_username }}
- {variable: SHOAL_KAFKA__SASL_USERNAME, secret: {{ toJson .existingSecret }}, key: {{ toJson .usernameKey }}, isName: true}
{{- end }}
- {variable: SHOAL_KAFKA__SASL_PASSWORD, secret: {{ toJson .existingSecret }}, key: {{ toJson .passwordKey }}}
{{- end }}
{{- end }}
{{- with .Values.kafka.clientCertificate }}
{{- if and .existingSecret .passwordKey }}
- {variable: SHOAL_KAFKA__SSL_KEY_PASSWORD, secret: {{ toJson .existingSecret }}, key: {{ toJson .passwordKey }}}
{{- end }}
{{- end }}
{{- with .Values.registry.credentials }}
{{- if and .existingSecret .tokenKey }}
- {variable: SHOAL_REGISTRY__TOKEN, secret: {{ toJson .existingSecret }}, key: {{ toJson .tokenKey }}}
{{- else if .existingSecret }}
{{- if not $.Values.config.registry.username }}
- {variable: SHOAL_REGISTRY__USERNAME, secret: {{ toJson .existingSecret }}, key: {{ toJson .usernameKey }}, isName: true}
{{- end }}
- {variable: SHOAL_REGISTRY__PASSWORD, secret: {{ toJson .existingSecret }}, key: {{ toJson .passwordKey }}}
{{- end }}
{{- end }}
{{- with .Values.telemetry.credentials }}
{{- if .existingSecret }}
- {variable: SHOAL_TELEMETRY__HEADERS, secret: {{ toJson .existingSecret }}, key: {{ toJson .headersKey }}}
{{- end }}
{{- end }}
{{- end -}}

{{/* Those of them that are files, as a JSON list; they are in one volume. */}}
{{- define "shoal.secretFiles" -}}
{{- $files := list -}}
{{- if .Values.secretsAsFiles -}}
{{- range include "shoal.secrets" . | fromYamlArray }}{{ if not .isName }}{{ $files = append $files . }}{{ end }}{{ end -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{/* Environment variables hold only secrets, or where they are. All other settings are in the settings file. Of the topics Job
     Secrets are optional, so that the Job starts without them and its log says what is missing. */}}
{{- define "shoal.env" -}}
- name: SHOAL_CONFIG
  value: /etc/shoal/settings/settings.yaml
{{- if .Values.insecureDevelopmentSecret }}
- name: SHOAL_PRIVACY__SECRET
  value: {{ printf "for development only: %s" (printf "%s/%s" .Release.Namespace .Release.Name | sha256sum) | quote }}
{{- end }}
{{- range include "shoal.secrets" . | fromYamlArray }}
{{- if and $.Values.secretsAsFiles (not .isName) }}
- name: {{ .variable }}_FILE
  value: /etc/shoal/secrets/{{ .variable }}
{{- else }}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
      {{- if $.isTopicsJob }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "shoal.volumeMounts" -}}
- name: settings
  # As a folder: the kubelet does not update a file that is mounted by subPath.
  mountPath: /etc/shoal/settings
  readOnly: true
{{- if include "shoal.secretFiles" . | fromJsonArray }}
- name: secrets
  mountPath: /etc/shoal/secrets
  readOnly: true
{{- end }}
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
{{- with include "shoal.secretFiles" $root | fromJsonArray }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range . }}
      - secret:
          name: {{ .secret }}
          {{- if $root.isTopicsJob }}
          optional: true
          {{- end }}
          items:
            - key: {{ .key }}
              path: {{ .variable }}
      {{- end }}
{{- end }}
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
