{{/*
Development (`skaffold dev`, trial.development): processes run under `node --watch` on a copy of the image's sources
that may be written, which outlives a restart of the container. The root stays read-only.
*/}}

{{/* The init container that makes the copy; arguments: root. */}}
{{- define "hc.development.init" -}}
- name: sources
  image: {{ include "hc.image" .root.Values.image | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
    - --eval
    - >-
      for (const folder of ['gateway', 'proto', 'services'])
      require('node:fs').cpSync(`/app/${folder}`, `/sources/${folder}`, {recursive: true})
  resources:
    requests: {cpu: 50m, memory: 64Mi, ephemeral-storage: 64Mi}
    limits: {memory: 256Mi, ephemeral-storage: 256Mi}
  securityContext: {{- include "hc.container.security" . | nindent 4 }}
  volumeMounts: [{name: sources, mountPath: /sources}]
{{- end -}}

{{- define "hc.development.mounts" -}}
{{- range list "gateway" "proto" "services" }}
- {name: sources, mountPath: /app/{{ . }}, subPath: {{ . }}}
{{- end }}
{{- end -}}
