{{/* What only tool runners have, and the servers that the release runs. */}}

{{/* tools.servers as JSON: each completed by the defaults, whose keys it replaces as a whole. */}}
{{- define "tokenmill.toolsServers" -}}
{{- $servers := dict -}}
{{- range $name, $said := .Values.tools.servers -}}
{{- $server := deepCopy $.Values.tools.serverDefaults -}}
{{- range $key, $value := $said -}}
{{- $_ := set $server $key $value -}}
{{- end -}}
{{- $_ := set $servers $name $server -}}
{{- end -}}
{{ toJson $servers }}
{{- end }}

{{/* The servers file of runners: other entries unchanged, and the addresses of the release's servers. */}}
{{- define "tokenmill.serversFile" -}}
{{- $entries := deepCopy .Values.tools.mcpServers -}}
{{- range $name, $server := include "tokenmill.toolsServers" . | fromJson -}}
{{- $host := include "tokenmill.toolsServer" (merge (dict "server" $name) $) -}}
{{- $entry := dict "url" (printf "http://%s:%v%s" $host $server.port $server.path) -}}
{{- with $server.headers -}}
{{- $_ := set $entry "headers" . -}}
{{- end -}}
{{- with $server.call_s -}}
{{- $_ := set $entry "call_s" . -}}
{{- end -}}
{{- with $server.calls -}}
{{- $_ := set $entry "calls" . -}}
{{- end -}}
{{- $_ := set $entries $name $entry -}}
{{- end -}}
{{ dict "mcpServers" $entries | toPrettyJson }}
{{- end }}

{{/* The files of runners, as data of a ConfigMap. */}}
{{- define "tokenmill.toolsFiles" -}}
tokenmill.toml: |
  {{- include "tokenmill.toml" (merge (dict "part" "tools") .) | trim | nindent 2 }}
{{- if not .Values.config.tools.servers_file }}
servers.json: |
  {{- include "tokenmill.serversFile" . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "tokenmill.toolsEnv" -}}
{{- if not .Values.config.tools.servers_file }}
- name: TOKENMILL_TOOLS__SERVERS_FILE
  value: /etc/tokenmill/servers.json
{{- end }}
{{ include "tokenmill.kafkaEnv" . }}
{{- with .Values.tools.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
