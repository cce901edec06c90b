{{/* The one pod that CronJob, Deployment and the test are made of. */}}

{{/* Labels and annotations of a pod: dict root, component */}}
{{- define "orphangc.podMetadata" -}}
labels:
  {{- include "orphangc.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  {{- if not .root.Values.existingConfigMap }}
  checksum/config: {{ include "orphangc.config" .root | sha256sum }}
  {{- end }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The fields of a pod beside its own container: dict root, restartPolicy */}}
{{- define "orphangc.podFields" -}}
{{- $values := .root.Values -}}
serviceAccountName: {{ include "orphangc.serviceAccountName" .root }}
automountServiceAccountToken: {{ include "orphangc.needsKubernetes" .root | eq "true" }}
restartPolicy: {{ .restartPolicy }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
enableServiceLinks: false
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
  {{- if and $values.persistence.enabled (not (kindIs "invalid" $values.fsGroup)) }}
  fsGroup: {{ $values.fsGroup }}
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- tpl (toYaml .) $.root | nindent 2 }}
{{- end }}
volumes:
  - name: config
    configMap:
      name: {{ include "orphangc.configMapName" .root }}
  - name: tmp
    emptyDir:
      sizeLimit: {{ $values.scratch.tmpSizeLimit }}
  - name: data
    {{- if $values.persistence.enabled }}
    persistentVolumeClaim:
      claimName: {{ include "orphangc.claimName" .root }}
    {{- else }}
    emptyDir:
      sizeLimit: {{ $values.scratch.plansSizeLimit }}
    {{- end }}
  {{- with $values.extraVolumes }}
  {{- tpl (toYaml .) $.root | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The fields of the container beside its name and arguments. */}}
{{- define "orphangc.containerFields" -}}
image: {{ include "orphangc.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
env:
  - name: HOME
    value: /var/lib/orphangc
  {{- range $variable, $key := .Values.credentials.keys }}
  - name: {{ $variable }}
    valueFrom:
      secretKeyRef:
        name: {{ $.Values.credentials.existingSecret }}
        key: {{ $key }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- $wholeSecret := and .Values.credentials.existingSecret (not .Values.credentials.keys) }}
{{- if or $wholeSecret .Values.extraEnvFrom }}
envFrom:
  {{- if $wholeSecret }}
  - secretRef:
      name: {{ .Values.credentials.existingSecret }}
  {{- end }}
  {{- with .Values.extraEnvFrom }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - name: config
    mountPath: /etc/orphangc
    readOnly: true
  - name: tmp
    mountPath: /tmp
  - name: data
    mountPath: /var/lib/orphangc
  {{- with .Values.extraVolumeMounts }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- end -}}
