{{/* What the pods of worker, gateway, tools, front, caller, topics job and test share. */}}

{{/* First lines of a pod's spec, with .podSecurityContext if there is one. */}}
{{- define "tokenmill.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml (.podSecurityContext | default .Values.podSecurityContext) | nindent 2 }}
{{- end }}

{{/* First lines of a container; its command is the image's own program. The image is the chart's unless there is .image. */}}
{{- define "tokenmill.container" -}}
image: {{ .image | default (include "tokenmill.image" .) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
{{- end }}

{{- define "tokenmill.volumeMounts" -}}
- {name: files, mountPath: /etc/tokenmill, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The volumes of workers; the file with the configuration comes from the ConfigMap .configMap. */}}
{{- define "tokenmill.volumes" -}}
{{- include "tokenmill.files" (dict "configMap" .configMap "secrets" (include "tokenmill.secrets" .) "tmp" .Values.worker.tmpSizeLimit) }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The folder with the ConfigMap .configMap and the .secrets, and a /tmp of size .tmp. */}}
{{- define "tokenmill.files" -}}
- name: files
  projected:
    defaultMode: 0440
    sources:
      - configMap:
          name: {{ .configMap }}
      {{- with .secrets | trim }}
      {{- . | nindent 6 }}
      {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: {{ .tmp }}
{{- end }}
