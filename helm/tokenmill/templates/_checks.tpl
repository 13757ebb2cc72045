{{/* Checks across values; the schema sees each of them alone. */}}

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

{{/* Checks of the access rules. */}}
{{- define "tokenmill.rightsChecks" -}}
{{- $auth := .Values.config.gateway.auth | default "none" -}}
{{- if eq $auth "none" -}}
{{- fail (printf "%s.enabled needs config.gateway.auth: without it everybody who reaches the Service could %s" .for .could) -}}
{{- end -}}
{{- if and (eq $auth "keys") (not .Values.gateway.keys.existingSecret) (not .Values.config.gateway.keys_file) -}}
{{- fail "config.gateway.auth is keys: gateway.keys.existingSecret has to name the Secret with the file of keys" -}}
{{- end -}}
{{- range $kind, $secret := dict "keys" .Values.gateway.keys.existingSecret "jwt" .Values.gateway.jwt.existingSecret -}}
{{- if and (ne $auth $kind) $secret -}}
{{- fail (printf "gateway.%s.existingSecret has no effect where config.gateway.auth is %s" $kind $auth) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* State must be far less than the container's memory: the process itself and data in flight come on top. */}}
{{- define "tokenmill.memoryChecks" -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $limit := toString (default "" .limit) -}}
{{- $unit := regexReplaceAll "^[0-9.]+" $limit "" -}}
{{- if and $limit (hasKey $units $unit) -}}
{{- $mib := divf (mulf (regexFind "^[0-9.]+" $limit | float64) (get $units $unit)) 1048576 -}}
{{- if gt (float64 .mib) $mib -}}
{{- fail (printf "%s is %d MiB, and %s %s: the container would be killed before; raise the one, or lower the other" .of (int .mib) .limits $limit) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "tokenmill.gatewayChecks" -}}
{{- include "tokenmill.memoryChecks" (dict "of" "config.gateway.window_mib" "mib" .Values.config.gateway.window_mib "limits" "gateway.resources.limits.memory" "limit" (dig "limits" "memory" "" .Values.gateway.resources)) -}}
{{- include "tokenmill.rightsChecks" (merge (dict "for" "gateway" "could" "read and stop every conversation") .) -}}
{{- $least := .Values.gateway.autoscaling.minReplicas | int -}}
{{- $most := .Values.gateway.autoscaling.maxReplicas | int -}}
{{- if and .Values.gateway.autoscaling.enabled (gt $least $most) -}}
{{- fail (printf "gateway.autoscaling.minReplicas is %d, and there are at most %d" $least $most) -}}
{{- end -}}
{{- end }}

{{- define "tokenmill.toolsGraceSeconds" -}}
{{- $needed := add .Values.tools.preStopSeconds (ceil .Values.config.tools.drain_s) 10 | int -}}
{{- $given := .Values.tools.terminationGracePeriodSeconds | int -}}
{{- if and $given (lt $given $needed) -}}
{{- fail (printf "tools.terminationGracePeriodSeconds is %d, and a drain may take %d: tools.preStopSeconds, config.tools.drain_s and 10 s more" $given $needed) -}}
{{- end -}}
{{ default $needed $given }}
{{- end }}

{{- define "tokenmill.toolsMaxReplicas" -}}
{{- default .Values.topics.partitions .Values.tools.autoscaling.maxReplicas | int -}}
{{- end }}

{{- define "tokenmill.toolsChecks" -}}
{{- $file := .Values.config.tools.servers_file -}}
{{- $said := or .Values.tools.servers .Values.tools.mcpServers -}}
{{- if not (or $file $said) -}}
{{- fail "tools.enabled needs a server: name one in tools.servers, which this release runs, or in tools.mcpServers" -}}
{{- end -}}
{{- if and $file $said -}}
{{- fail "config.tools.servers_file is a file of your own, beside which tools.servers and tools.mcpServers count for nothing: leave out the one or the others" -}}
{{- end -}}
{{- range $name, $entry := .Values.tools.mcpServers -}}
{{- if not (regexMatch "^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$" $name) -}}
{{- fail (printf "tools.mcpServers: %q is no name for a server: take letters, digits, - and single _" $name) -}}
{{- end -}}
{{- if not (or $entry.command $entry.url) -}}
{{- fail (printf "tools.mcpServers.%s has neither a command nor a url: say how it is reached" $name) -}}
{{- end -}}
{{- include "tokenmill.toolsHeaderChecks" (dict "of" (printf "tools.mcpServers.%s" $name) "headers" $entry.headers) -}}
{{- end -}}
{{- range $name, $server := include "tokenmill.toolsServers" . | fromJson -}}
{{- include "tokenmill.toolsHeaderChecks" (dict "of" (printf "tools.servers.%s" $name) "headers" $server.headers) -}}
{{- include "tokenmill.toolsServerChecks" (merge (dict "server" $name "image" $server.image) $) -}}
{{- end -}}
{{- $partitions := .Values.topics.partitions | int -}}
{{- $scaled := .Values.tools.autoscaling.enabled -}}
{{- $most := ternary (include "tokenmill.toolsMaxReplicas" . | int) (.Values.tools.replicas | int) $scaled -}}
{{- if gt $most $partitions -}}
{{- fail (printf "tools.%s is %d, and topics.partitions %d: runners beyond it would be idle" (ternary "autoscaling.maxReplicas" "replicas" $scaled) $most $partitions) -}}
{{- end -}}
{{- $least := .Values.tools.autoscaling.minReplicas | int -}}
{{- if and $scaled (gt $least $most) -}}
{{- fail (printf "tools.autoscaling.minReplicas is %d, and there are at most %d" $least $most) -}}
{{- end -}}
{{- end }}

{{/* Headers stand in a ConfigMap. What they hold is not said, as the log of whoever renders may be anybody's. */}}
{{- define "tokenmill.toolsHeaderChecks" -}}
{{- range $header, $value := .headers -}}
{{- if and (has (lower $header) (list "authorization" "proxy-authorization" "cookie" "x-api-key")) (not (contains "${" $value)) -}}
{{- fail (printf "%s.headers.%s: put the secret into a Secret of tools.extraEnvFrom, and name its variable here: ${NAME}" $.of $header) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Checks of a server that the release runs: its name is part of objects' names and of mcpServers. */}}
{{- define "tokenmill.toolsServerChecks" -}}
{{- if not (regexMatch "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" .server) -}}
{{- fail (printf "tools.servers: %q is no name for objects: take lower-case letters, digits and -, with no - at either end" .server) -}}
{{- end -}}
{{- $name := include "tokenmill.toolsServer" . -}}
{{- if gt (len $name) 63 -}}
{{- fail (printf "tools.servers.%s: its Service would be called %s, which is longer than 63 characters: take a shorter name, or a shorter fullnameOverride" .server $name) -}}
{{- end -}}
{{- if hasKey .Values.tools.mcpServers .server -}}
{{- fail (printf "tools.servers.%s is also in tools.mcpServers: give one of them another name" .server) -}}
{{- end -}}
{{- if not .image -}}
{{- fail (printf "tools.servers.%s has no image: say which in its key image" .server) -}}
{{- end -}}
{{- end }}

{{/* A rule that reads what nobody records has no value, and so never fires. */}}
{{- define "tokenmill.rulesChecks" -}}
{{- $recorded := list -}}
{{- range .groups -}}
{{- range .rules -}}
{{- $recorded = append $recorded .record -}}
{{- end -}}
{{- end -}}
{{- range $disabled := .disabled -}}
{{- range $disabled.rules -}}
{{- $record := .record | default "" -}}
{{- if and $record (not (has $record $recorded)) -}}
{{- range $group := $.groups -}}
{{- range $group.rules -}}
{{- if contains $record (toString .expr) -}}
{{- fail (printf "metrics.rules.disabledGroups: %s reads %s of %s: leave out both groups, or neither" $group.name $record $disabled.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "tokenmill.maxReplicas" -}}
{{- default .Values.topics.partitions .Values.worker.autoscaling.maxReplicas | int -}}
{{- end }}

{{- define "tokenmill.checks" -}}
{{- include "tokenmill.memoryChecks" (dict "of" "config.worker.state_mib" "mib" .Values.config.worker.state_mib "limits" "worker.resources.limits.memory" "limit" (dig "limits" "memory" "" .Values.worker.resources)) -}}
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
