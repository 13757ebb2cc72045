{{/* The number of pods of a .part, and how many of them may be evicted. */}}

{{/* Where nothing scales them, .replicas. An autoscaler's number stays what it was when this was rendered, also 0, with
which somebody paused them: a field that is left out would be 1, and all other pods would end before it looks again. */}}
{{- define "tokenmill.replicas" -}}
{{- if .scaled -}}
{{- $spec := lookup "apps/v1" .kind .Release.Namespace (include (printf "tokenmill.%s" .part) .) | dig "spec" dict -}}
{{- if hasKey $spec "replicas" -}}
replicas: {{ $spec.replicas }}
{{- end -}}
{{- else -}}
replicas: {{ .replicas }}
{{- end -}}
{{- end }}

{{/* Of two limits, minAvailable counts. Without any, the API server accepts it, and it limits nothing. */}}
{{- define "tokenmill.podDisruptionBudget" -}}
{{- $limit := "" -}}
{{- range $name := list "maxUnavailable" "minAvailable" -}}
{{- $said := get $ $name -}}
{{- if not (or (kindIs "invalid" $said) (eq (toString $said) "")) -}}
{{- $limit = printf "%s: %v" $name $said -}}
{{- end -}}
{{- end -}}
{{- if not $limit -}}
{{- fail (printf "%s.podDisruptionBudget has neither minAvailable nor maxUnavailable: say one of them, or enabled: false" .part) -}}
{{- end -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include (printf "tokenmill.%s" .part) . }}
  labels:
    {{- include "tokenmill.labels" . | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
spec:
  {{ $limit }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include (printf "tokenmill.%sSelector" .part) . | nindent 6 }}
{{- end }}
