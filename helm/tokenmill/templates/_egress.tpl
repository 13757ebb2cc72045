{{/* Egress of the pods: DNS, brokers, and an OpenTelemetry collector if configured; for workers also Redis. */}}
{{- define "tokenmill.egressNames" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end }}

{{- define "tokenmill.egressKafka" -}}
{{- include "tokenmill.egressNames" . }}
{{- $servers := splitList "," .Values.config.kafka.bootstrap_servers }}
{{- $ports := list }}
{{- range $servers }}
{{- $ports = append $ports (splitList ":" . | last | trim | int) }}
{{- end }}
- ports:
    {{- range default ($ports | uniq) .Values.networkPolicy.kafka.ports }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with .Values.networkPolicy.kafka.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with dig "telemetry" "endpoint" "" .Values.config }}
{{- $collector := urlParse . }}
- ports:
    - {port: {{ regexFind ":[0-9]+$" $collector.host | trimPrefix ":" | int | default (ternary 443 80 (eq $collector.scheme "https")) }}, protocol: TCP}
  {{- with $.Values.networkPolicy.telemetry.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where gateway and front fetch the keys of tokens, unless a file has them. */}}
{{- define "tokenmill.egressKeySet" -}}
{{- $keys := .Values.config.gateway.jwt_keys | default "" }}
{{- if hasPrefix "https://" $keys }}
- ports:
    - {port: {{ regexFind ":[0-9]+$" (urlParse $keys).host | trimPrefix ":" | int | default 443 }}, protocol: TCP}
  {{- with .Values.networkPolicy.keySet.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "tokenmill.egress" -}}
{{- include "tokenmill.egressKafka" . }}
{{- $url := ternary "" (.Values.config.redis.url | default "") (ne .Values.redis.existingSecret "") }}
{{- $said := regexFind ":[0-9]+$" (get (urlParse $url) "host") | trimPrefix ":" | int }}
- ports:
    - {port: {{ .Values.networkPolicy.redis.port | default $said | default 6379 }}, protocol: TCP}
  {{- with .Values.networkPolicy.redis.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}
