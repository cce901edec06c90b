{{/* Names, labels, and whether something is on. */}}

{{- define "orphangc.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* 52 characters: the CronJob controller adds 11 to make the name of a Job. */}}
{{- define "orphangc.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $full | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* A name with something behind it, within the 63 characters of a label. */}}
{{- define "orphangc.suffixed" -}}
{{- printf "%s-%s" (include "orphangc.fullname" .root) .suffix -}}
{{- end -}}

{{- define "orphangc.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "orphangc.selectorLabels" -}}
app.kubernetes.io/name: {{ include "orphangc.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "orphangc.labels" -}}
{{ include "orphangc.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/part-of: orphangc
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* name, namespace and labels of an object: dict root, [suffix], [namespace], [labels], [annotations] */}}
{{- define "orphangc.metadata" -}}
name: {{ if .suffix }}{{ include "orphangc.suffixed" . }}{{ else }}{{ include "orphangc.fullname" .root }}{{ end }}
namespace: {{ .namespace | default (include "orphangc.namespace" .root) }}
labels:
  {{- include "orphangc.labels" .root | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "orphangc.image" -}}
{{- $image := .Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- define "orphangc.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "orphangc.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "orphangc.configMapName" -}}
{{- .Values.existingConfigMap | default (include "orphangc.fullname" .) -}}
{{- end -}}

{{- define "orphangc.claimName" -}}
{{- .Values.persistence.existingClaim | default (include "orphangc.fullname" .) -}}
{{- end -}}

{{- define "orphangc.isDaemon" -}}
{{- if eq .Values.kind "Deployment" }}true{{ end -}}
{{- end -}}

{{/* Whether the pods speak to the Kubernetes API; only then do they get a token. */}}
{{- define "orphangc.needsKubernetes" -}}
{{- include "orphangc.discovers" . -}}
{{- end -}}
