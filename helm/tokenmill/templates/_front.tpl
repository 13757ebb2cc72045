{{/* What only pods of fronts and callers have. */}}

{{/* Keys of the model servers: files in the folder /etc/tokenmill of those that call models. */}}
{{- define "tokenmill.upstreamKeys" -}}
{{- range $name, $from := .Values.upstreams.keys }}
- secret:
    name: {{ $from.existingSecret }}
    items:
      - {key: {{ $from.key | default $name }}, path: upstreams/{{ $name }}}
{{- end }}
{{- end }}

{{/* Chat templates, for fronts and callers, which read them at start. */}}
{{- define "tokenmill.upstreamTemplates" -}}
{{- range $name, $from := .Values.upstreams.templates }}
- configMap:
    name: {{ $from.existingConfigMap }}
    items:
      - {key: {{ $from.key | default $name }}, path: templates/{{ $name }}}
{{- end }}
{{- end }}

{{- define "tokenmill.frontSecrets" -}}
{{- include "tokenmill.kafkaSecrets" . }}
{{- include "tokenmill.rightsSecrets" . }}
{{- if .Values.front.caller }}
{{- include "tokenmill.upstreamKeys" . }}
{{- end }}
{{- include "tokenmill.upstreamTemplates" . }}
{{- end }}

{{- define "tokenmill.callerSecrets" -}}
{{- include "tokenmill.kafkaSecrets" . }}
{{- include "tokenmill.upstreamKeys" . }}
{{- include "tokenmill.upstreamTemplates" . }}
{{- end }}

{{/* It listens for the Service; config.gateway.auth sets the access rules. */}}
{{- define "tokenmill.frontEnv" -}}
- name: TOKENMILL_FRONT__BIND
  value: 0.0.0.0
{{- include "tokenmill.rightsEnv" . }}
{{ include "tokenmill.kafkaEnv" . }}
{{- with .Values.front.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tokenmill.callerEnv" -}}
{{ include "tokenmill.kafkaEnv" . }}
{{- with .Values.caller.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Egress to model servers: the ports of their URLs, unless set. */}}
{{- define "tokenmill.egressUpstreams" -}}
{{- $ports := list }}
{{- range .Values.config.upstreams }}
{{- range .urls }}
{{- $url := urlParse . }}
{{- $said := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | int }}
{{- $ports = append $ports ($said | default (ternary 443 80 (eq $url.scheme "https"))) }}
{{- end }}
{{- end }}
- ports:
    {{- range default ($ports | uniq) .Values.networkPolicy.upstreams.ports }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with .Values.networkPolicy.upstreams.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
