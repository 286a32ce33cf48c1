{{/* Names, labels and the parts of the chart that several templates need. */}}

{{/* The components of this installation: files/components.yaml, joined with their values; a map by name. */}}
{{- define "hc.components" -}}
{{- $all := .Files.Get "files/components.yaml" | fromYaml -}}
{{- if not .Values.site.enabled }}{{ $all = omit $all "site" }}{{ end -}}
{{- range $name, $component := $all -}}
{{- $values := ternary $.Values.site (index $.Values.components $name) (eq $name "site") -}}
{{- $_ := set $component "values" $values -}}
{{- end -}}
{{- $all | toYaml -}}
{{- end -}}

{{/* The resource name of a component; arguments: root, name. */}}
{{- define "hc.name" -}}
{{ .root.Release.Name }}-{{ .name }}
{{- end -}}

{{/*
Labels that select a component's pods, and all that pod templates have: with a version among them each version of the
chart would replace every pod, and a trial's stores would lose their data; arguments: root, name.
*/}}
{{- define "hc.selector" -}}
app.kubernetes.io/name: headset-cloud
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{/* Labels of a resource itself, including its version; arguments: root, name. */}}
{{- define "hc.labels" -}}
{{ include "hc.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* name, namespace and labels of a resource; arguments: root, name. */}}
{{- define "hc.metadata" -}}
name: {{ include "hc.name" . }}
namespace: {{ .root.Release.Namespace | quote }}
labels: {{- include "hc.labels" . | nindent 2 }}
{{- end -}}

{{/* An image's reference; argument: an image's values. */}}
{{- define "hc.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}

{{/* The Secret with the keys, the token and the clients of a trial. */}}
{{- define "hc.trial.secret" -}}
{{ .Values.trial.secret | default (printf "%s-trial" .Release.Name) }}
{{- end -}}

{{/* The Secrets by the name of the setting that reads them. In a trial with stores, also the Secret that the chart creates. */}}
{{- define "hc.secrets" -}}
{{- $s := .Values.secrets -}}
{{- $own := include "hc.trial.secret" . -}}
{{- $trial := dict "MONGODB_URI" (dict "name" (printf "%s-trial" .Release.Name) "key" "mongodb-uri") "SECRET_KEY" (dict "name" $own "key" "secret-key") "ADMIN_TOKEN" (dict "name" $own "key" "admin-token") -}}
{{- $refs := dict "MONGODB_URI" $s.mongodbUri "SECRET_KEY" $s.secretKey "SECRET_KEY_OTHERS" $s.secretKeyOthers "ADMIN_TOKEN" $s.adminToken "ADMIN_TOKEN_BEFORE" $s.adminTokenBefore "METRICS_TOKEN" $s.metricsToken "AWS_SHARED_CREDENTIALS" $s.s3Credentials "EGRESS_PROXY_CREDENTIALS" $s.egressProxyCredentials "KAFKA_SASL_PASSWORD" $s.kafkaPassword -}}
{{- range $key, $ref := $refs -}}
{{- if and $.Values.trial.stores (not $ref.name) (hasKey $trial $key) }}{{ $_ := set $refs $key (index $trial $key) }}{{ end -}}
{{- end -}}
{{- $refs | toYaml -}}
{{- end -}}

{{/*
A text that changes when what pods read of the Secrets or of the ConfigMap of authorities does, so that they read the
new one: processes read them at their start. Where Helm does not look at a cluster it is that of secrets.revision alone.
Who reads pods sees it, and could try a weak password on a hash of it. So the platform's own key, which nobody guesses,
is always hashed with the others; where it is not found, the Secrets' versions are, which a label changes as well.
The Secret that a trial makes does not exist yet at its install, and upgrades keep it, so it does not count.
*/}}
{{- define "hc.secretsRevision" -}}
{{- $seen := list .Values.secrets.revision -}}
{{- if .Values.secrets.inspect -}}
{{- $made := ternary (printf "%s-trial" .Release.Name) "" .Values.trial.stores -}}
{{- $contents := list -}}
{{- $versions := list -}}
{{- $key := "" -}}
{{- $refs := include "hc.secrets" . | fromYaml -}}
{{- if .Values.trial.issuer }}{{ $_ := set $refs "ISSUER_CLIENTS" (dict "name" .Values.trial.secret "key" "issuer-clients.json") }}{{ end -}}
{{- range $setting, $ref := $refs -}}
{{- if and $ref.name (ne $ref.name $made) -}}
{{- $secret := lookup "v1" "Secret" $.Release.Namespace $ref.name -}}
{{- if $secret -}}
{{- $content := get ($secret.data | default dict) $ref.key -}}
{{- if eq $setting "SECRET_KEY" }}{{ $key = $content }}{{ end -}}
{{- $contents = append $contents (printf "%s/%s=%s" $ref.name $ref.key $content) -}}
{{- $versions = append $versions (printf "%s=%s" $ref.name $secret.metadata.resourceVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $seen = concat $seen (ternary $contents $versions (ne $key "")) -}}
{{- with .Values.caBundleConfigMap -}}
{{- $authorities := lookup "v1" "ConfigMap" $.Release.Namespace . -}}
{{- if $authorities }}{{ $seen = append $seen (printf "authorities=%s" (get ($authorities.data | default dict) "ca.crt")) }}{{ end -}}
{{- end -}}
{{- end -}}
{{ $seen | uniq | sortAlpha | join "," | sha256sum | trunc 16 }}
{{- end -}}

{{/* A quantity of memory or storage in bytes. */}}
{{- define "hc.bytes" -}}
{{- $units := dict "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- mul (regexFind "^[0-9]+" . | int64) (index $units (regexFind "[a-zA-Z]+$" .)) -}}
{{- end -}}

{{/* True if the second IPv4 network is a proper part of the first; argument: both (CIDR), as a list. */}}
{{- define "hc.within" -}}
{{- $read := list -}}
{{- range . -}}
{{- $size := int64 1 -}}
{{- range until (int (sub 32 (regexFind "[0-9]+$" . | int))) }}{{ $size = mul 2 $size }}{{ end -}}
{{- $address := int64 0 -}}
{{- range splitList "." (regexFind "^[0-9.]+" .) }}{{ $address = add (mul 256 $address) (int64 .) }}{{ end -}}
{{- $read = append $read (dict "address" $address "size" $size) -}}
{{- end -}}
{{- $all := index $read 0 -}}
{{- $part := index $read 1 -}}
{{- if and (lt $part.size $all.size) (eq (div $part.address $all.size) (div $all.address $all.size)) }}true{{ end -}}
{{- end -}}

{{/* Addresses of the brokers. */}}
{{- define "hc.brokers" -}}
{{- if .Values.trial.stores }}{{ .Release.Name }}-trial-kafka:9092{{ else }}{{ .Values.kafka.brokers }}{{ end -}}
{{- end -}}
