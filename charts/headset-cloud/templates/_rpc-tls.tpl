{{/* The Secret with a component's certificate for calls between pods; empty if there is none; arguments: root, name. */}}
{{- define "hc.rpcTls.secret" -}}
{{- $tls := .root.Values.rpcTls -}}
{{- if and (has $tls.mode (list "required" "permissive")) (ne .name "site") -}}
{{- if $tls.issuer.name }}{{ include "hc.name" . }}-rpc{{ else }}{{ $tls.secretPrefix | default (include "hc.rpcTls.trialPrefix" .root) }}-{{ .name }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* cert-manager's Certificate of a component; processes read the renewed one without a restart. */}}
{{- define "hc.rpcTls.certificate" -}}
{{- $tls := .root.Values.rpcTls -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {{- include "hc.metadata" . | nindent 2 }}
spec:
  secretName: {{ include "hc.rpcTls.secret" . | quote }}
  dnsNames: [{{ printf "%s.%s" .name $tls.domain | quote }}]
  usages: [digital signature, server auth, client auth]
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  issuerRef: {group: cert-manager.io, kind: {{ $tls.issuer.kind }}, name: {{ $tls.issuer.name | quote }}}
{{- end -}}

{{/* Prefix of the Secrets with a trial's certificates; it depends on the domain, because existing Secrets are kept. */}}
{{- define "hc.rpcTls.trialPrefix" -}}
{{- $domain := .Values.rpcTls.domain -}}
{{ .Release.Name }}-trial-rpc{{ if ne $domain "headset-cloud.internal" }}-{{ $domain | sha256sum | trunc 8 }}{{ end }}
{{- end -}}

{{/* True if a trial creates its certificates itself. */}}
{{- define "hc.rpcTls.trial" -}}
{{- $tls := .Values.rpcTls -}}
{{- if and .Values.trial.enabled (ne $tls.mode "mesh") (not $tls.issuer.name) (not $tls.secretPrefix) }}true{{ end -}}
{{- end -}}

{{/* The Secret with the certificate for headsets; empty if there is none; arguments: root, name. */}}
{{- define "hc.headsetTls.secret" -}}
{{- $tls := .root.Values.headsets.tls -}}
{{- if eq .name "device-link" -}}
{{- if $tls.issuer.name }}{{ include "hc.name" . }}-headsets-tls{{ else }}{{ $tls.secret }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "hc.headsetTls.certificate" -}}
{{- $tls := .root.Values.headsets.tls -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {{- include "hc.metadata" (dict "root" .root "name" "device-link-headsets") | nindent 2 }}
spec:
  secretName: {{ include "hc.headsetTls.secret" . }}
  dnsNames: {{- toYaml $tls.hosts | nindent 4 }}
  usages: [digital signature, server auth]
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  issuerRef: {group: cert-manager.io, kind: {{ $tls.issuer.kind }}, name: {{ $tls.issuer.name | quote }}}
{{- end -}}
