{{/* Common parts of every pod of the platform, as restricted Pod Security requires. */}}

{{- define "hc.pod.security" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "hc.container.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Fields of the pod except containers and volumes; arguments: root, name. */}}
{{- define "hc.pod.common" -}}
serviceAccountName: {{ include "hc.name" . }}
automountServiceAccountToken: false
# Variables of all Services in the namespace are not used, and could override a setting.
enableServiceLinks: false
securityContext: {{- include "hc.pod.security" . | nindent 2 }}
{{- include "hc.pod.pullSecrets" .root }}
{{- with .root.Values.scheduling }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Begins with a line break, or is nothing; argument: root. */}}
{{- define "hc.pod.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name | quote }}{{ else }}{{ quote . }}{{ end }}
  {{- end }}
{{- end }}
{{- end -}}

{{/*
Settings of a process as YAML, name to text; arguments: root, name, component, secrets (settings that are
read from files). Extra settings of the values never replace what the chart sets: the schema refuses them.
*/}}
{{- define "hc.settings" -}}
{{- $v := .root.Values -}}
{{- $c := .component -}}
{{- $env := dict "NODE_OPTIONS" "--max-old-space-size-percentage=65" -}}
{{- /* The image sets production, which rejects the issuers and secrets of trials. */ -}}
{{- if $v.trial.enabled }}{{ $_ := set $env "NODE_ENV" "development" }}{{ end -}}
{{- if $v.caBundleConfigMap }}{{ $_ := set $env "NODE_EXTRA_CA_CERTS" "/etc/headset-cloud/ca/ca.crt" }}{{ end -}}
{{- range .secrets }}{{ $_ := set $env (printf "%s_FILE" .) (printf "/etc/headset-cloud/secrets/%s" .) }}{{ end -}}
{{- if $c.stores -}}
{{- $_ := set $env "MONGODB_DATABASE_PREFIX" $v.mongodb.databasePrefix -}}
{{- $_ := set $env "KAFKA_BROKERS" (include "hc.brokers" .root) -}}
{{- $_ := set $env "KAFKA_PARTITIONS" (toString $v.kafka.partitions) -}}
{{- $_ := set $env "KAFKA_REPLICATION_FACTOR" (toString $v.kafka.replicationFactor) -}}
{{- if $v.kafka.prefix }}{{ $_ := set $env "KAFKA_PREFIX" $v.kafka.prefix }}{{ end -}}
{{- if $v.kafka.tls }}{{ $_ := set $env "KAFKA_TLS" "on" }}{{ end -}}
{{- if ne $v.kafka.sasl.mechanism "none" -}}
{{- $_ := set $env "KAFKA_SASL_MECHANISM" $v.kafka.sasl.mechanism -}}
{{- $_ := set $env "KAFKA_SASL_USERNAME" $v.kafka.sasl.username -}}
{{- end -}}
{{- end -}}
{{- $env | toYaml -}}
{{- end -}}

{{/* The same for a component's Deployment: its listeners, the components that it calls, and its stop. */}}
{{- define "hc.settings.component" -}}
{{- $v := .root.Values -}}
{{- $c := .component -}}
{{- $env := include "hc.settings" . | fromYaml -}}
{{- $_ := set $env "ADMIN_LISTEN" "0.0.0.0:9100" -}}
{{- with $c.public }}{{ $_ := set $env .setting (printf "0.0.0.0:%v" .port) }}{{ end -}}
{{- /* The pause before SIGTERM (5 s), STOP_DELAY_MS and the stop fit into the pod's grace period. */ -}}
{{- $_ := set $env "STOP_DELAY_MS" "3000" -}}
{{- $_ := set $env "STOP_GRACE_MS" (toString (mul 1000 (sub $v.terminationGracePeriodSeconds 15))) -}}
{{- if ne .name "site" -}}
{{- /* A developer waits for the restart. */ -}}
{{- if $v.trial.development }}{{ $env = merge (dict "STOP_DELAY_MS" "0" "STOP_GRACE_MS" "2000") $env }}{{ end -}}
{{- if $v.tracesEndpoint }}{{ $_ := set $env "OTEL_EXPORTER_OTLP_ENDPOINT" $v.tracesEndpoint }}{{ end -}}
{{- range $c.calls -}}
{{- if ne . $.name -}}
{{- $address := printf "dns:///%s:9000" (include "hc.name" (dict "root" $.root "name" .)) -}}
{{- $_ := set $env (printf "%s_ADDRESS" (. | upper | replace "-" "_")) $address -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if ne .name "site" -}}
{{- $_ := set $env "RPC_TLS_MODE" $v.rpcTls.mode -}}
{{- if include "hc.rpcTls.secret" . -}}
{{- $_ := set $env "RPC_TLS_DOMAIN" $v.rpcTls.domain -}}
{{- range $setting, $file := dict "CERT" "tls.crt" "KEY" "tls.key" "CA" "ca.crt" -}}
{{- $_ := set $env (printf "RPC_TLS_%s_FILE" $setting) (printf "/etc/headset-cloud/rpc/%s" $file) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if include "hc.headsetTls.secret" . -}}
{{- $_ := set $env "DEVICE_LINK_TLS_CERT_FILE" "/etc/headset-cloud/headsets/tls.crt" -}}
{{- $_ := set $env "DEVICE_LINK_TLS_KEY_FILE" "/etc/headset-cloud/headsets/tls.key" -}}
{{- end -}}
{{- if $c.stores -}}
{{- $_ := set $env "GRPC_LISTEN" "0.0.0.0:9000" -}}
{{- $_ := set $env "SCHEMA" "wait" -}}
{{- end -}}
{{- if $c.peers -}}
{{- $_ := set $env "GRPC_LISTEN" "0.0.0.0:9000" -}}
{{- $_ := set $env "GATEWAY_PEERS" (printf "%s-peers:9000" (include "hc.name" .)) -}}
{{- end -}}
{{- if eq .name "gateway" -}}
{{- $_ := set $env "OIDC_ISSUER" (include "hc.issuer" .root) -}}
{{- $_ := set $env "OIDC_AUDIENCE" (ternary "urn:headset-cloud:api" $v.oidc.audience $v.trial.issuer) -}}
{{- with $v.oidc.jwksUri }}{{ $_ := set $env "OIDC_JWKS_URI" . }}{{ end -}}
{{- end -}}
{{- if eq .name "device-link" }}{{ $_ := set $env "ADVERTISE_ADDRESS" "$(POD_IP):9000" }}{{ end -}}
{{- if eq .name "updates" -}}
{{- $_ := set $env "UPDATES_TEMP_DIR" "/var/lib/headset-cloud/uploads" -}}
{{- if $v.s3.bucket -}}
{{- $_ := set $env "S3_BUCKET" $v.s3.bucket -}}
{{- $_ := set $env "S3_REGION" $v.s3.region -}}
{{- with $v.s3.endpoint }}{{ $_ := set $env "S3_ENDPOINT" . }}{{ end -}}
{{- with $v.s3.publicEndpoint }}{{ $_ := set $env "S3_PUBLIC_ENDPOINT" . }}{{ end -}}
{{- else -}}
{{- $_ := set $env "DATA_DIR" "/var/lib/headset-cloud/uploads" -}}
{{- $_ := set $env "UPDATES_LISTEN" "0.0.0.0:8084" -}}
{{- $_ := set $env "UPDATES_PUBLIC_URL" (printf "http://%s:8084" (include "hc.name" .)) -}}
{{- end -}}
{{- end -}}
{{- with $v.callbacks.allowAddresses -}}
{{- if has $.name (list "devices" "notifier") }}{{ $_ := set $env "NOTIFIER_ALLOW_ADDRESSES" (join "," .) }}{{ end -}}
{{- if eq $.name "communication" }}{{ $_ := set $env "COMMUNICATION_ALLOW_ADDRESSES" (join "," .) }}{{ end -}}
{{- end -}}
{{- if and $c.egress $v.egressProxy.url -}}
{{- $_ := set $env "EGRESS_PROXY" $v.egressProxy.url -}}
{{- /* The trial's own servers in the cluster are reached without the proxy. */ -}}
{{- $except := concat $v.egressProxy.except $v.callbacks.allowAddresses -}}
{{- if $v.trial.issuer }}{{ $except = append $except (printf "%s-trial-issuer" .root.Release.Name) }}{{ end -}}
{{- with $except }}{{ $_ := set $env "EGRESS_NO_PROXY" (join "," .) }}{{ end -}}
{{- end -}}
{{- range $key, $value := merge (deepCopy ($c.values.settings | default dict)) (deepCopy $v.settings) }}{{ $_ := set $env $key (include "hc.text" $value) }}{{ end -}}
{{- $env | toYaml -}}
{{- end -}}

{{/*
Settings as a container's env; argument: what the two above give, as a map. Kubernetes reads $(NAME) and $$ in a
value, so each $ is doubled, but where the chart itself names a variable.
*/}}
{{- define "hc.env" -}}
{{- range $key, $value := . }}
- {name: {{ $key }}, value: {{ ternary $value ($value | replace "$" "$$") (eq $key "ADVERTISE_ADDRESS") | quote }}}
{{- end }}
{{- end -}}

{{/* A setting as text. Helm reads every number as a float, whose text would be 1.073741824e+09. */}}
{{- define "hc.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{- define "hc.issuer" -}}
{{- if .Values.trial.issuer }}http://{{ .Release.Name }}-trial-issuer:8081{{ else }}{{ .Values.oidc.issuer }}{{ end -}}
{{- end -}}

{{/* The mounts and volumes of files that hold secrets and certificates; arguments: root, secrets. */}}
{{- define "hc.mounts" -}}
- {name: secrets, mountPath: /etc/headset-cloud/secrets, readOnly: true}
{{- if .root.Values.caBundleConfigMap }}
- {name: ca, mountPath: /etc/headset-cloud/ca, readOnly: true}
{{- end }}
{{- end -}}

{{- define "hc.volumes" -}}
{{- $refs := include "hc.secrets" .root | fromYaml -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range .secrets }}
      - secret:
          name: {{ (index $refs .).name | quote }}
          items: [{key: {{ (index $refs .).key | quote }}, path: {{ . }}}]
      {{- end }}
{{- with .root.Values.caBundleConfigMap }}
- name: ca
  configMap: {name: {{ . | quote }}}
{{- end }}
{{- end -}}

{{/* The names of the settings that a component reads from Secrets, separated by blanks; arguments: root, name, component. */}}
{{- define "hc.secretsOf" -}}
ADMIN_TOKEN
{{- if .root.Values.secrets.adminTokenBefore.name }} ADMIN_TOKEN_BEFORE{{ end -}}
{{- if .root.Values.secrets.metricsToken.name }} METRICS_TOKEN{{ end -}}
{{- if .component.stores }} MONGODB_URI{{ end -}}
{{- if or .component.seals (and .component.stores .root.Values.secrets.secretKeyForAll) }} SECRET_KEY{{ if .root.Values.secrets.secretKeyOthers.name }} SECRET_KEY_OTHERS{{ end }}{{ end -}}
{{- if .component.stores }}{{ if ne .root.Values.kafka.sasl.mechanism "none" }} KAFKA_SASL_PASSWORD{{ end }}{{ end -}}
{{- if and (eq .name "updates") .root.Values.s3.bucket .root.Values.secrets.s3Credentials.name }} AWS_SHARED_CREDENTIALS{{ end -}}
{{- if and .component.egress .root.Values.egressProxy.url .root.Values.secrets.egressProxyCredentials.name }} EGRESS_PROXY_CREDENTIALS{{ end -}}
{{- end -}}
