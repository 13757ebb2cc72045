{{/* Checks across values of fronts, callers and model servers. */}}

{{/* With callers in it, a front lets its readers go while their answers end. */}}
{{- define "tokenmill.frontGraceSeconds" -}}
{{- $drain := ceil .Values.config.front.drain_s | int -}}
{{- if .Values.front.caller -}}
{{- $drain = max $drain (ceil .Values.config.caller.drain_s | int) -}}
{{- end -}}
{{- $needed := add .Values.front.preStopSeconds $drain 10 | int -}}
{{- $given := .Values.front.terminationGracePeriodSeconds | int -}}
{{- if and $given (lt $given $needed) -}}
{{- fail (printf "front.terminationGracePeriodSeconds is %d, and a drain may take %d: front.preStopSeconds, config.front.drain_s or, with callers, a longer config.caller.drain_s, and 10 s more" $given $needed) -}}
{{- end -}}
{{ default $needed $given }}
{{- end }}

{{- define "tokenmill.callerGraceSeconds" -}}
{{- $needed := add .Values.caller.preStopSeconds (ceil .Values.config.caller.drain_s) 10 | int -}}
{{- $given := .Values.caller.terminationGracePeriodSeconds | int -}}
{{- if and $given (lt $given $needed) -}}
{{- fail (printf "caller.terminationGracePeriodSeconds is %d, and a drain may take %d: caller.preStopSeconds, config.caller.drain_s and 10 s more" $given $needed) -}}
{{- end -}}
{{ default $needed $given }}
{{- end }}

{{- define "tokenmill.callerMaxReplicas" -}}
{{- default .Values.topics.partitions .Values.caller.autoscaling.maxReplicas | int -}}
{{- end }}

{{- define "tokenmill.frontChecks" -}}
{{- include "tokenmill.memoryChecks" (dict "of" "config.gateway.window_mib" "mib" .Values.config.gateway.window_mib "limits" "front.resources.limits.memory" "limit" (dig "limits" "memory" "" .Values.front.resources)) -}}
{{- include "tokenmill.rightsChecks" (merge (dict "for" "front" "could" "use the models") .) -}}
{{- include "tokenmill.upstreamChecks" (merge (dict "for" "front" "calls" .Values.front.caller) .) -}}
{{- $least := .Values.front.autoscaling.minReplicas | int -}}
{{- $most := .Values.front.autoscaling.maxReplicas | int -}}
{{- if and .Values.front.autoscaling.enabled (gt $least $most) -}}
{{- fail (printf "front.autoscaling.minReplicas is %d, and there are at most %d" $least $most) -}}
{{- end -}}
{{- end }}

{{- define "tokenmill.callerChecks" -}}
{{- include "tokenmill.upstreamChecks" (merge (dict "for" "caller" "calls" true) .) -}}
{{- $partitions := .Values.topics.partitions | int -}}
{{- $scaled := .Values.caller.autoscaling.enabled -}}
{{- $most := ternary (include "tokenmill.callerMaxReplicas" . | int) (.Values.caller.replicas | int) $scaled -}}
{{- if gt $most $partitions -}}
{{- fail (printf "caller.%s is %d, and topics.partitions %d: callers beyond it would be idle" (ternary "autoscaling.maxReplicas" "replicas" $scaled) $most $partitions) -}}
{{- end -}}
{{- $least := .Values.caller.autoscaling.minReplicas | int -}}
{{- if and $scaled (gt $least $most) -}}
{{- fail (printf "caller.autoscaling.minReplicas is %d, and there are at most %d" $least $most) -}}
{{- end -}}
{{- end }}

{{/* The file of the configuration is a ConfigMap. What a URL holds is not said, as the log of whoever renders may be
anybody's. */}}
{{- define "tokenmill.upstreamChecks" -}}
{{- if not .Values.config.upstreams -}}
{{- fail (printf "%s.enabled needs config.upstreams: name the model servers, and the models that clients get from them" .for) -}}
{{- end -}}
{{- $files := dict "api_key_file" "keys" "template_file" "templates" -}}
{{- $folders := dict "api_key_file" "/etc/tokenmill/upstreams/" "template_file" "/etc/tokenmill/templates/" -}}
{{- range $number, $upstream := .Values.config.upstreams -}}
{{- range $upstream.urls -}}
{{- if contains "@" . -}}
{{- fail (printf "config.upstreams[%d].urls: a URL holds a user or a password: put it into a Secret of upstreams.keys, and name its file in api_key_file" $number) -}}
{{- end -}}
{{- end -}}
{{- range $key, $folder := ternary $folders (pick $folders "template_file") $.calls -}}
{{- $file := get $upstream $key | default "" -}}
{{- $mounts := get $files $key -}}
{{- $known := ternary $.Values.upstreams.keys $.Values.upstreams.templates (eq $mounts "keys") -}}
{{- $name := trimPrefix $folder $file -}}
{{- if and (hasPrefix "/etc/tokenmill/" $file) (not (and (hasPrefix $folder $file) (hasKey $known $name))) -}}
{{- fail (printf "config.upstreams[%d].%s is %s, and there is no such file: upstreams.%s has those of %s" $number $key $file $mounts $folder) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
