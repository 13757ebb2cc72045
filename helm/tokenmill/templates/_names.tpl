{{/* Names, labels, image: what objects are called. */}}

{{/* Short enough for the longest name made from it: a label holds a StatefulSet's name and 11 characters more. */}}
{{- define "tokenmill.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $own := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $own .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- end }}

{{- define "tokenmill.worker" -}}
{{ include "tokenmill.fullname" . }}-worker
{{- end }}

{{/* What selects the pods of this release. */}}
{{- define "tokenmill.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tokenmill.workerSelector" -}}
{{ include "tokenmill.selector" . }}
app.kubernetes.io/component: worker
{{- end }}

{{- define "tokenmill.gateway" -}}
{{ include "tokenmill.fullname" . }}-gateway
{{- end }}

{{- define "tokenmill.gatewaySelector" -}}
{{ include "tokenmill.selector" . }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "tokenmill.front" -}}
{{ include "tokenmill.fullname" . }}-front
{{- end }}

{{- define "tokenmill.frontSelector" -}}
{{ include "tokenmill.selector" . }}
app.kubernetes.io/component: front
{{- end }}

{{/* What only the Service of the operators' port has, if clients use another one. */}}
{{- define "tokenmill.opsService" -}}
tokenmill/service: ops
{{- end }}

{{- define "tokenmill.caller" -}}
{{ include "tokenmill.fullname" . }}-caller
{{- end }}

{{- define "tokenmill.callerSelector" -}}
{{ include "tokenmill.selector" . }}
app.kubernetes.io/component: caller
{{- end }}

{{- define "tokenmill.tools" -}}
{{ include "tokenmill.fullname" . }}-tools
{{- end }}

{{- define "tokenmill.toolsSelector" -}}
{{ include "tokenmill.selector" . }}
app.kubernetes.io/component: tools
{{- end }}

{{/* Name of the tool server .server. */}}
{{- define "tokenmill.toolsServer" -}}
{{ include "tokenmill.tools" . }}-{{ .server }}
{{- end }}

{{- define "tokenmill.toolsServerComponent" -}}
app.kubernetes.io/component: tools-server
tokenmill/server: {{ .server | quote }}
{{- end }}

{{- define "tokenmill.toolsServerSelector" -}}
{{ include "tokenmill.selector" . }}
{{ include "tokenmill.toolsServerComponent" . }}
{{- end }}

{{/* Labels of pods: none that a new chart version alone would change, which would replace the pods. */}}
{{- define "tokenmill.podLabels" -}}
{{ include "tokenmill.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tokenmill.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "tokenmill.podLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "tokenmill.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Image of the tool runners. */}}
{{- define "tokenmill.toolsImage" -}}
{{- $repository := .Values.tools.image.repository | default (printf "%s-tools" .Values.image.repository) -}}
{{- if .Values.tools.image.digest -}}
{{ $repository }}@{{ .Values.tools.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.tools.image.tag | default .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "tokenmill.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "tokenmill.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{/* Address for clients of a .part. An Ingress terminates TLS with its own certificates, otherwise the pods do. */}}
{{- define "tokenmill.address" -}}
{{- $part := get .Values .part -}}
{{- $tls := ternary $part.ingress.tls .Values.gateway.tls.existingSecret $part.ingress.enabled -}}
{{- $host := printf "%s.%s:%v" (include (printf "tokenmill.%s" .part) .) .Release.Namespace $part.service.port -}}
{{- if $part.ingress.enabled -}}
{{- $host = printf "%s%s" (first $part.ingress.hosts | default "?") ($part.ingress.path | default "/" | trimSuffix "/") -}}
{{- end -}}
{{ ternary "http" "https" (empty $tls) }}://{{ $host }}
{{- end }}
