{{/* The application's configuration as its own TOML file. Secrets are files beside it, named by variables. */}}

{{/* A value in TOML. Numbers of values files are floats, which toToml would write as 8080.0; JSON writes 8080. */}}
{{- define "tokenmill.toml.value" -}}
{{- if kindIs "map" . -}}
{{- $pairs := list -}}
{{- range $key, $value := . -}}
{{- $pairs = append $pairs (printf "%s = %s" (toRawJson $key) (include "tokenmill.toml.value" $value)) -}}
{{- end -}}
{ {{- join ", " $pairs -}} }
{{- else if kindIs "slice" . -}}
{{- $items := list -}}
{{- range . -}}
{{- $items = append $items (include "tokenmill.toml.value" .) -}}
{{- end -}}
[{{ join ", " $items }}]
{{- else if kindIs "invalid" . -}}
{{- fail "config: null has no place inside of a value: leave the key out" -}}
{{- else -}}
{{ toRawJson . }}
{{- end -}}
{{- end }}

{{/* The lines of a table. */}}
{{- define "tokenmill.toml.table" -}}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{ $key }} = {{ include "tokenmill.toml.value" $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* The file: sections are tables, outputs and upstreams are lists. A section of one part is in the file of that .part
alone: others would look for secrets, and start anew when it changes. For whom they make events, workers have to know, and
who makes topics how long requests are. Callers know a repeated request for as long as fronts do, and a gateway with the
inspector shows questions for as long as runners wait. A front without callers only has to know which models there are. */}}
{{- define "tokenmill.toml" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.redis.existingSecret -}}
{{- $_ := unset $config.redis "url" -}}
{{- end -}}
{{- $part := .part | default "worker" -}}
{{- if and (eq $part "gateway") $config.gateway.inspect -}}
{{- $_ := set $config "tools" (pick $config.tools "approve_s" "expire_s") -}}
{{- else if ne $part "tools" -}}
{{- $_ := unset $config "tools" -}}
{{- end -}}
{{- if not (has $part (list "gateway" "front")) -}}
{{- $_ := set $config "gateway" (pick $config.gateway "dialects") -}}
{{- end -}}
{{- if ne $part "gateway" -}}
{{- $_ := unset $config "inspect" -}}
{{- end -}}
{{- if eq $part "caller" -}}
{{- $_ := set $config "front" (pick $config.front "body_kib" "answer_s" "remember_s" "retry_s") -}}
{{- else if ne $part "front" -}}
{{- $_ := set $config "front" (pick $config.front "body_kib") -}}
{{- end -}}
{{- $calls := or (eq $part "caller") (and (eq $part "front") .Values.front.caller) -}}
{{- if not $calls -}}
{{- $_ := unset $config "caller" -}}
{{- end -}}
{{- $upstreams := list -}}
{{- if has $part (list "front" "caller") -}}
{{- range $config.upstreams -}}
{{- $upstreams = append $upstreams (ternary . (omit . "api_key_file") $calls) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $config "upstreams" $upstreams -}}
{{- range list "gateway" "front" "tools" -}}
{{- if not (get $config .) -}}
{{- $_ := unset $config . -}}
{{- end -}}
{{- end -}}
{{- range $name, $section := $config }}
{{- if kindIs "map" $section }}
[{{ $name }}]
{{- include "tokenmill.toml.table" $section }}
{{ else }}
{{- range $section }}
[[{{ $name }}]]
{{- include "tokenmill.toml.table" . }}
{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The Secrets beside the file in the folder /etc/tokenmill. */}}
{{- define "tokenmill.kafkaSecrets" -}}
{{- if .Values.kafka.login.existingSecret }}
- secret:
    name: {{ .Values.kafka.login.existingSecret }}
    items:
      - {key: {{ .Values.kafka.login.passwordKey }}, path: kafka/password}
{{- end }}
{{- if .Values.kafka.ca.existingSecret }}
- secret:
    name: {{ .Values.kafka.ca.existingSecret }}
    items:
      - {key: {{ .Values.kafka.ca.key }}, path: kafka/ca.crt}
{{- end }}
{{- if .Values.kafka.clientCert.existingSecret }}
- secret:
    name: {{ .Values.kafka.clientCert.existingSecret }}
    items:
      - {key: {{ .Values.kafka.clientCert.certKey }}, path: kafka/tls.crt}
      - {key: {{ .Values.kafka.clientCert.keyKey }}, path: kafka/tls.key}
      {{- if .Values.kafka.clientCert.passwordKey }}
      - {key: {{ .Values.kafka.clientCert.passwordKey }}, path: kafka/tls.password}
      {{- end }}
{{- end }}
{{- end }}

{{- define "tokenmill.secrets" -}}
{{- include "tokenmill.kafkaSecrets" . }}
{{- if .Values.redis.existingSecret }}
- secret:
    name: {{ .Values.redis.existingSecret }}
    items:
      - {key: {{ .Values.redis.urlKey }}, path: redis/url}
{{- end }}
{{- if .Values.redis.ca.existingSecret }}
- secret:
    name: {{ .Values.redis.ca.existingSecret }}
    items:
      - {key: {{ .Values.redis.ca.key }}, path: redis/ca.crt}
{{- end }}
{{- end }}

{{/* Variables that name the files. What only the chart can know overrides the file; extraEnv overrides everything. */}}
{{- define "tokenmill.kafkaEnv" -}}
- name: TOKENMILL_CONFIG
  value: /etc/tokenmill/tokenmill.toml
{{- if .Values.kafka.login.existingSecret }}
{{- if .Values.kafka.login.usernameKey }}
- name: TOKENMILL_KAFKA__SASL_USERNAME
  valueFrom:
    secretKeyRef: {name: {{ .Values.kafka.login.existingSecret }}, key: {{ .Values.kafka.login.usernameKey }}}
{{- end }}
- name: TOKENMILL_KAFKA__SASL_PASSWORD_FILE
  value: /etc/tokenmill/kafka/password
{{- end }}
{{- if .Values.kafka.ca.existingSecret }}
- name: TOKENMILL_KAFKA__SSL_CAFILE
  value: /etc/tokenmill/kafka/ca.crt
{{- end }}
{{- if .Values.kafka.clientCert.existingSecret }}
- name: TOKENMILL_KAFKA__SSL_CERTFILE
  value: /etc/tokenmill/kafka/tls.crt
- name: TOKENMILL_KAFKA__SSL_KEYFILE
  value: /etc/tokenmill/kafka/tls.key
{{- if .Values.kafka.clientCert.passwordKey }}
- name: TOKENMILL_KAFKA__SSL_PASSWORD_FILE
  value: /etc/tokenmill/kafka/tls.password
{{- end }}
{{- end }}
{{- end }}

{{- define "tokenmill.env" -}}
{{- include "tokenmill.kafkaEnv" . }}
{{- if .Values.redis.existingSecret }}
- name: TOKENMILL_REDIS__URL_FILE
  value: /etc/tokenmill/redis/url
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
