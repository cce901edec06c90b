{{/* The configuration file, and what the chart must know of it. */}}

{{/* The configuration as YAML: the values' after tpl, with what only the chart knows. */}}
{{- define "orphangc.config" -}}
{{- $config := tpl (toYaml .Values.config) . | fromYaml -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "config: after tpl it is no YAML: %s" $config.Error) -}}
{{- end -}}
{{- $_ := set $config "plans" ($config.plans | default "/var/lib/orphangc/plans") -}}
{{- $asked := .Values.discovery -}}
{{- $discovery := $config.discovery | default dict -}}
{{- with $asked.namespaces }}{{ $_ := set $discovery "namespaces" . }}{{ end -}}
{{- with $asked.namespaceSelector }}{{ $_ := set $discovery "namespace_selector" . }}{{ end -}}
{{- if $asked.allNamespaces }}{{ $_ := set $discovery "all_namespaces" true }}{{ end -}}
{{- with $asked.state }}{{ $_ := set $discovery "state" . }}{{ end -}}
{{- if $discovery }}{{ $_ := set $config "discovery" $discovery }}{{ end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Whether Flink's resources in every namespace are read. */}}
{{- define "orphangc.discoversAll" -}}
{{- $discovery := (include "orphangc.config" . | fromYaml).discovery | default dict -}}
{{- if or $discovery.all_namespaces $discovery.namespace_selector }}true{{ end -}}
{{- end -}}

{{/* The namespaces whose resources are read, as a YAML list below `namespaces`. */}}
{{- define "orphangc.discoveredNamespaces" -}}
namespaces: {{ dig "discovery" "namespaces" list (include "orphangc.config" . | fromYaml) | uniq | sortAlpha | toJson }}
{{- end -}}

{{/* Whether runs ask Kubernetes which jobs are alive. */}}
{{- define "orphangc.discovers" -}}
{{- $discovered := (include "orphangc.discoveredNamespaces" . | fromYaml).namespaces -}}
{{- $discovers := or .Values.kubernetesDiscovery.enabled (include "orphangc.discoversAll" .) $discovered -}}
{{- range (include "orphangc.config" . | fromYaml).storage_roots -}}
{{- if .kubernetes_ha }}{{ $discovers = true }}{{ end -}}
{{- end -}}
{{- if $discovers }}true{{ end -}}
{{- end -}}

{{/* The namespaces that may be read, as a YAML list below `namespaces`; none means all. */}}
{{- define "orphangc.watchNamespaces" -}}
{{- $namespaces := .Values.kubernetesDiscovery.watchNamespaces -}}
{{- if not $namespaces -}}
{{- range (include "orphangc.config" . | fromYaml).storage_roots -}}
{{- range .kubernetes_ha }}{{ $namespaces = append $namespaces . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $namespaces = concat $namespaces (include "orphangc.discoveredNamespaces" . | fromYaml).namespaces -}}
{{- if include "orphangc.discoversAll" . }}{{ $namespaces = list }}{{ end -}}
namespaces: {{ $namespaces | uniq | sortAlpha | toJson }}
{{- end -}}

{{- define "orphangc.schedule" -}}
{{- (include "orphangc.config" . | fromYaml).schedule | default "17 */6 * * *" -}}
{{- end -}}
