{{/* What has to hold between values; the schema sees each of them alone. */}}

{{- define "tokenmill.graceSeconds" -}}
{{- $needed := add .Values.worker.preStopSeconds (ceil .Values.config.worker.shutdown_timeout_s) 5 | int -}}
{{- $given := .Values.worker.terminationGracePeriodSeconds | int -}}
{{- if and $given (lt $given $needed) -}}
{{- fail (printf "worker.terminationGracePeriodSeconds is %d, and a drain may take %d: worker.preStopSeconds, config.worker.shutdown_timeout_s and 5 s more" $given $needed) -}}
{{- end -}}
{{ default $needed $given }}
{{- end }}

{{- define "tokenmill.gatewayGraceSeconds" -}}
{{- $needed := add .Values.gateway.preStopSeconds (ceil .Values.config.gateway.drain_s) 5 | int -}}
{{- $given := .Values.gateway.terminationGracePeriodSeconds | int -}}
{{- if and $given (lt $given $needed) -}}
{{- fail (printf "gateway.terminationGracePeriodSeconds is %d, and a drain may take %d: gateway.preStopSeconds, config.gateway.drain_s and 5 s more" $given $needed) -}}
{{- end -}}
{{ default $needed $given }}
{{- end }}

{{- define "tokenmill.gatewayChecks" -}}
{{- $auth := .Values.config.gateway.auth | default "none" -}}
{{- if eq $auth "none" -}}
{{- fail "gateway.enabled needs config.gateway.auth: without it everybody who reaches the Service could read and stop every conversation" -}}
{{- end -}}
{{- if and (eq $auth "keys") (not .Values.gateway.keys.existingSecret) (not .Values.config.gateway.keys_file) -}}
{{- fail "config.gateway.auth is keys: gateway.keys.existingSecret has to name the Secret with the file of keys" -}}
{{- end -}}
{{- $least := .Values.gateway.autoscaling.minReplicas | int -}}
{{- $most := .Values.gateway.autoscaling.maxReplicas | int -}}
{{- if and .Values.gateway.autoscaling.enabled (gt $least $most) -}}
{{- fail (printf "gateway.autoscaling.minReplicas is %d, and there are at most %d" $least $most) -}}
{{- end -}}
{{- end }}

{{- define "tokenmill.maxReplicas" -}}
{{- default .Values.topics.partitions .Values.worker.autoscaling.maxReplicas | int -}}
{{- end }}

{{- define "tokenmill.checks" -}}
{{- $partitions := .Values.topics.partitions | int -}}
{{- if eq .Values.worker.autoscaling.kind "none" -}}
{{- if gt (.Values.worker.replicas | int) $partitions -}}
{{- fail (printf "worker.replicas is %d, and topics.partitions %d: workers beyond it would be idle" (.Values.worker.replicas | int) $partitions) -}}
{{- end -}}
{{- else -}}
{{- $most := include "tokenmill.maxReplicas" . | int -}}
{{- if gt $most $partitions -}}
{{- fail (printf "worker.autoscaling.maxReplicas is %d, and topics.partitions %d: workers beyond it would be idle" $most $partitions) -}}
{{- end -}}
{{- if gt (.Values.worker.autoscaling.minReplicas | int) $most -}}
{{- fail (printf "worker.autoscaling.minReplicas is %d, and there are at most %d" (.Values.worker.autoscaling.minReplicas | int) $most) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.topics.create "strimzi") (not .Values.topics.strimzi.cluster) -}}
{{- fail "topics.strimzi.cluster is needed with topics.create strimzi: the name of the Kafka resource" -}}
{{- end -}}
{{- end }}
