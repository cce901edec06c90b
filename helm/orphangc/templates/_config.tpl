{{/* The configuration file, and what the chart must know of it. */}}

{{/* The configuration as YAML: the values' after tpl, with what only the chart knows. */}}
{{- define "orphangc.config" -}}
{{- $config := tpl (toYaml .Values.config) . | fromYaml -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "config: after tpl it is no YAML: %s" $config.Error) -}}
{{- end -}}
{{- $_ := set $config "plans" ($config.plans | default "/var/lib/orphangc/plans") -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Whether runs ask Kubernetes which jobs are alive. */}}
{{- define "orphangc.discovers" -}}
{{- $discovers := .Values.kubernetesDiscovery.enabled -}}
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
namespaces: {{ $namespaces | uniq | sortAlpha | toJson }}
{{- end -}}

{{- define "orphangc.schedule" -}}
{{- (include "orphangc.config" . | fromYaml).schedule | default "17 */6 * * *" -}}
{{- end -}}
