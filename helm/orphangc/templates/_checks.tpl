{{/* What must not be installed. Each refusal says what to do. */}}

{{- define "orphangc.check" -}}
{{- include "orphangc.check.roots" . -}}
{{- include "orphangc.check.kind" . -}}
{{- include "orphangc.check.monitoring" . -}}
{{- end -}}

{{- define "orphangc.check.roots" -}}
{{- $config := include "orphangc.config" . | fromYaml -}}
{{- if .Values.existingConfigMap -}}
{{- if $config.storage_roots -}}
{{- fail "existingConfigMap and config.storage_roots are both set: config would be ignored. Set one of them." -}}
{{- end -}}
{{- else -}}
{{- $discovers := or (include "orphangc.discoversAll" .) (include "orphangc.discoveredNamespaces" . | fromYaml).namespaces -}}
{{- if not (or $config.storage_roots $discovers $config.discovery) -}}
{{- fail "config.storage_roots is empty: name at least one storage root, with `root` and `state`, or discovery.namespaces. See the chart's README." -}}
{{- end -}}
{{- $hasState := or (dig "discovery" "state" "" $config) .Values.persistence.enabled -}}
{{- if and $discovers (not $hasState) (ne (dig "discovery" "defaults" "mode" ($config.mode | default "report") $config) "report") -}}
{{- fail "discovery has no `state`: tombstones and what was discovered would die with the pod. Set discovery.state to a URI outside every storage root, or persistence.enabled." -}}
{{- end -}}
{{- $asks := $config.discovery -}}
{{- range $config.storage_roots }}{{ $asks = or $asks .kubernetes_ha }}{{ end -}}
{{- if and (or .Values.kubernetesDiscovery.enabled .Values.kubernetesDiscovery.watchNamespaces) (not $asks) -}}
{{- fail "kubernetesDiscovery only grants access: no run would ask Kubernetes which jobs are suspended. Name the namespaces in config.storage_roots[].kubernetes_ha, or in discovery.namespaces." -}}
{{- end -}}
{{- $written := dig "discovery" dict .Values.config -}}
{{- range $value, $key := dict "state" "state" "namespaceSelector" "namespace_selector" -}}
{{- $asked := get $.Values.discovery $value -}}
{{- $own := tpl (get $written $key | default "") $ -}}
{{- if and $asked $own (ne $asked $own) -}}
{{- fail (printf "discovery.%s and config.discovery.%s differ: the second would be ignored. Set one of them." $value $key) -}}
{{- end -}}
{{- end -}}
{{- range $root := append ($config.storage_roots | default list) (dig "discovery" "defaults" dict $config) -}}
{{- $mayBeShort := has "true" (list (lower (toString .allow_short_margins)) (lower (toString .allow_short_grace_period))) -}}
{{- range $name, $least := dict "grace_period" "24h" "quarantine_period" "24h" "quiet_period" "24h" "clock_skew" "1m" -}}
{{- if and (hasKey $root $name) (not $mayBeShort) (lt (include "orphangc.seconds" (get $root $name) | int) (include "orphangc.seconds" $least | int)) -}}
{{- fail (printf "%s: %s below %s is refused by orphangc; allow_short_margins accepts it." ($root.root | default "config.discovery.defaults") $name $least) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $state := dig "discovery" "state" "" $config -}}
{{- $inPod := and $state (or (hasPrefix "file:" $state) (not (contains "://" $state))) -}}
{{- if and $inPod (not .Values.persistence.enabled) (not .Values.extraVolumeMounts) -}}
{{- fail (printf "discovery.state is %s, which dies with the pod: every run would be the first. Set it to a URI outside every storage root, or persistence.enabled, or mount a volume there." $state) -}}
{{- end -}}
{{- range $position, $each := $config.storage_roots -}}
{{- if and (not $each.state) (not $.Values.persistence.enabled) -}}
{{- fail (printf "config.storage_roots[%d] (%s) has no `state`: tombstones would die with the pod, every run would be the first, and nothing would ever be deleted. Set `state` to a URI outside the storage root, or persistence.enabled." $position $each.root) -}}
{{- end -}}
{{- $isInPod := or (hasPrefix "file:" ($each.state | default "")) (not (contains "://" ($each.state | default "://"))) -}}
{{- if and $isInPod (not $.Values.persistence.enabled) (not $.Values.extraVolumeMounts) -}}
{{- fail (printf "config.storage_roots[%d] (%s) keeps its `state` in %s, which dies with the pod: every run would be the first. Set `state` to a URI outside the storage root, or persistence.enabled, or mount a volume there." $position $each.root $each.state) -}}
{{- end -}}
{{- if and $each.state (hasPrefix (printf "%s/" (trimSuffix "/" $each.root)) (printf "%s/" $each.state)) -}}
{{- fail (printf "config.storage_roots[%d] (%s) keeps its `state` in %s, inside the storage root, which belongs to Flink. Set `state` to a URI outside it." $position $each.root $each.state) -}}
{{- end -}}
{{- if and $each.schedule (ne $.Values.kind "Deployment") -}}
{{- fail (printf "config.storage_roots[%d].schedule: a CronJob has one schedule, config.schedule. Use kind: Deployment, or one release a schedule." $position) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The seconds of a duration, as text. */}}
{{- define "orphangc.seconds" -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+[dhms]" (lower (toString .)) -1 -}}
{{- $sum = add $sum (mul (regexFind "[0-9]+" .) (get (dict "d" 86400 "h" 3600 "m" 60 "s" 1) (regexFind "[dhms]" .))) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{- define "orphangc.check.kind" -}}
{{- $config := include "orphangc.config" . | fromYaml -}}
{{- range .Values.extraEnv -}}
{{- if or (has (upper .name) (list "ORPHANGC_MODE" "ORPHANGC_STORAGE_ROOTS")) (hasPrefix "ORPHANGC_DISCOVERY" (upper .name)) -}}
{{- fail (printf "extraEnv: %s would win over config.mode unseen. Set config.mode, config.storage_roots, config.discovery." .name) -}}
{{- end -}}
{{- end -}}
{{- if include "orphangc.isDaemon" . -}}
{{- $host := dig "http" "host" "127.0.0.1" $config -}}
{{- if and (not .Values.existingConfigMap) (has $host (list "127.0.0.1" "localhost" "::1")) -}}
{{- fail (printf "config.http.host is %s: neither probes nor Prometheus would reach the daemon. Leave it at 0.0.0.0, or :: with IPv6." $host) -}}
{{- end -}}
{{- else -}}
{{- $schedule := .Values.cronJob.schedule | default $config.schedule -}}
{{- if not (or .Values.existingConfigMap (regexMatch "^([^ ]+ +){4}[^ ]+$" ($schedule | default "" | trim))) -}}
{{- fail (printf "config.schedule is %q: a CronJob needs five cron fields." $schedule) -}}
{{- end -}}
{{- if and .Values.cronJob.schedule (not .Values.existingConfigMap) (ne .Values.cronJob.schedule $config.schedule) -}}
{{- fail "cronJob.schedule is for existingConfigMap: set config.schedule, which alerts go by too." -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "orphangc.check.monitoring" -}}
{{- if and (not (include "orphangc.isDaemon" .)) (or .Values.serviceMonitor.enabled .Values.podMonitor.enabled) -}}
{{- fail "serviceMonitor and podMonitor are for kind: Deployment; a CronJob's runs push: config.metrics.pushgateway." -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled -}}
{{- fail "serviceMonitor and podMonitor would scrape the daemon twice: enable one of them." -}}
{{- end -}}
{{- end -}}
