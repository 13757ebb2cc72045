{{/* What only pods of the gateway have, and those of the front, which share its access rules. */}}

{{/* Secrets of the access rules, and the certificate, in the folder /etc/tokenmill. */}}
{{- define "tokenmill.rightsSecrets" -}}
{{- if .Values.gateway.keys.existingSecret }}
- secret:
    name: {{ .Values.gateway.keys.existingSecret }}
    items:
      - {key: {{ .Values.gateway.keys.key }}, path: gateway/keys.toml}
{{- end }}
{{- if .Values.gateway.jwt.existingSecret }}
- secret:
    name: {{ .Values.gateway.jwt.existingSecret }}
    items:
      - {key: {{ .Values.gateway.jwt.key }}, path: gateway/jwt}
{{- end }}
{{- if .Values.gateway.tickets.existingSecret }}
- secret:
    name: {{ .Values.gateway.tickets.existingSecret }}
    items:
      - {key: {{ .Values.gateway.tickets.key }}, path: gateway/tickets}
{{- end }}
{{- if .Values.gateway.tls.existingSecret }}
- secret:
    name: {{ .Values.gateway.tls.existingSecret }}
    items:
      - {key: {{ .Values.gateway.tls.certKey }}, path: gateway/tls.crt}
      - {key: {{ .Values.gateway.tls.keyKey }}, path: gateway/tls.key}
{{- end }}
{{- end }}

{{- define "tokenmill.gatewaySecrets" -}}
{{- include "tokenmill.kafkaSecrets" . }}
{{- include "tokenmill.rightsSecrets" . }}
{{- end }}

{{/* Variables that name them. */}}
{{- define "tokenmill.rightsEnv" -}}
{{- if .Values.gateway.keys.existingSecret }}
- name: TOKENMILL_GATEWAY__KEYS_FILE
  value: /etc/tokenmill/gateway/keys.toml
{{- end }}
{{- if .Values.gateway.jwt.existingSecret }}
- name: TOKENMILL_GATEWAY__JWT_SECRET_FILE
  value: /etc/tokenmill/gateway/jwt
{{- end }}
{{- if .Values.gateway.tickets.existingSecret }}
- name: TOKENMILL_GATEWAY__TICKET_SECRET_FILE
  value: /etc/tokenmill/gateway/tickets
{{- end }}
{{- if .Values.gateway.tls.existingSecret }}
- name: TOKENMILL_GATEWAY__TLS_CERTFILE
  value: /etc/tokenmill/gateway/tls.crt
- name: TOKENMILL_GATEWAY__TLS_KEYFILE
  value: /etc/tokenmill/gateway/tls.key
{{- end }}
{{- end }}

{{/* It listens for the Service; config.gateway.auth sets the access rules. */}}
{{- define "tokenmill.gatewayEnv" -}}
- name: TOKENMILL_GATEWAY__BIND
  value: 0.0.0.0
{{- include "tokenmill.rightsEnv" . }}
{{ include "tokenmill.kafkaEnv" . }}
{{- with .Values.gateway.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Annotations of an Ingress: ingress-nginx talks HTTP to the pods unless told that they terminate TLS themselves. */}}
{{- define "tokenmill.ingressAnnotations" -}}
{{- $tls := dict "nginx.ingress.kubernetes.io/backend-protocol" "HTTPS" -}}
{{- merge (dict) (.annotations | default dict) (ternary $tls (dict) (ne .Values.gateway.tls.existingSecret "")) | toYaml -}}
{{- end }}
