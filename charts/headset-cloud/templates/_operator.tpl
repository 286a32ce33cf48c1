{{/* A container in which ctl reaches every component's listener, without its name and args; arguments: root, name, component, secrets. */}}
{{- define "hc.operator.container" -}}
image: {{ include "hc.image" .root.Values.image | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  {{- include "hc.env" (include "hc.settings" . | fromYaml) | trim | nindent 2 }}
  {{- /* A ready pod first; if there is none, a pod that is not ready. `ctl status` queries every pod. */}}
  {{- range $name, $_ := omit (include "hc.components" .root | fromYaml) "site" }}
  - {name: {{ $name | upper | replace "-" "_" }}_ADMIN, value: 'http://{{ $.root.Release.Name }}-{{ $name }}:9100,http://{{ $.root.Release.Name }}-{{ $name }}-admin:9100'}
  {{- end }}
resources:
  requests: {cpu: 20m, memory: 96Mi, ephemeral-storage: 16Mi}
  limits: {memory: 384Mi, ephemeral-storage: 256Mi}
securityContext: {{- include "hc.container.security" . | nindent 2 }}
volumeMounts:
  {{- include "hc.mounts" . | nindent 2 }}
  # The cache of compiled sources, which halves the time of a command; and files to copy.
  - {name: tmp, mountPath: /tmp}
{{- end -}}

{{/* Its volumes. */}}
{{- define "hc.operator.volumes" -}}
{{ include "hc.volumes" . | trim }}
- name: tmp
  emptyDir: {sizeLimit: 128Mi}
{{- end -}}
