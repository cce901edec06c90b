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
{{- /* Both places name namespaces: one that is left out would be a narrower world. */}}
{{- with $asked.namespaces }}{{ $_ := set $discovery "namespaces" (concat ($discovery.namespaces | default list) . | uniq) }}{{ end -}}
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

{{/* The port of an address, as text: its own, else that of its scheme, else none. */}}
{{- define "orphangc.portOf" -}}
{{- $host := regexReplaceAll "^[a-z][a-z0-9+.-]*://" . "" | splitList "/" | first -}}
{{- $port := regexFind ":[0-9]+$" $host | trimPrefix ":" -}}
{{- if $port }}{{ $port }}
{{- else if hasPrefix "https://" . }}443
{{- else if hasPrefix "http://" . }}80
{{- end -}}
{{- end -}}

{{/* The ports of everything that the configuration names, as a YAML list below `ports`. */}}
{{- define "orphangc.configuredPorts" -}}
{{- $config := include "orphangc.config" . | fromYaml -}}
{{- $addresses := list (dig "metrics" "pushgateway" "" $config) (dig "discovery" "rest" "" $config) -}}
{{- $addresses = concat $addresses (dig "discovery" "flink_rest" list $config) -}}
{{- $ports := list -}}
{{- if eq (dig "discovery" "rest" "" $config) "ingress" }}{{ $ports = list "80" "443" }}{{ end -}}
{{- range $config.storage_roots -}}
{{- $addresses = concat $addresses (.flink_rest | default list) -}}
{{- range .zookeeper_ha -}}
{{- range splitList "," (splitList "/" . | first) -}}
{{- $ports = append $ports (include "orphangc.portOf" . | default "2181") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if has .name (list "AWS_ENDPOINT_URL" "AWS_ENDPOINT_URL_S3") -}}
{{- $addresses = append $addresses (tpl (.value | default "") $) -}}
{{- end -}}
{{- end -}}
{{- range $addresses }}{{ $ports = append $ports (include "orphangc.portOf" .) }}{{ end -}}
{{- $numbers := list -}}
{{- range $ports | compact | uniq }}{{ $numbers = append $numbers (int .) }}{{ end -}}
ports: {{ toJson $numbers }}
{{- end -}}

{{/* All ports that pods may reach, as a YAML list below `ports`. */}}
{{- define "orphangc.egressPorts" -}}
{{- $ports := concat .Values.networkPolicy.egressPorts (include "orphangc.configuredPorts" . | fromYaml).ports -}}
{{- $discovered := (include "orphangc.discoveredNamespaces" . | fromYaml).namespaces -}}
{{- if or $discovered (include "orphangc.discoversAll" .) -}}
{{- $ports = concat $ports .Values.networkPolicy.discoveredPorts -}}
{{- end -}}
{{- $numbers := list -}}
{{- range $ports }}{{ $numbers = append $numbers (int .) }}{{ end -}}
ports: {{ $numbers | uniq | toJson }}
{{- end -}}
