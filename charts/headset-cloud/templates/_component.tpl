{{/* All resources of one component; arguments: root, name, component (files/components.yaml with its values). */}}

{{- define "hc.component" -}}
{{- $v := .component.values -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "hc.metadata" . | nindent 2 }}
  {{- with $v.serviceAccountAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
---
apiVersion: v1
kind: Service
metadata: {{- include "hc.metadata" . | nindent 2 }}
spec:
  {{- if .component.stores }}
  # Callers balance their calls over the addresses of all ready pods.
  clusterIP: None
  {{- end }}
  selector: {{- include "hc.selector" . | nindent 4 }}
  ports: {{- include "hc.component.ports" (merge (dict "key" "port") .) | trim | nindent 4 }}
{{- if .component.peers }}
---
apiVersion: v1
kind: Service
metadata: {{- include "hc.metadata" (dict "root" .root "name" (printf "%s-peers" .name)) | nindent 2 }}
spec:
  # Each pod calls all others; the Service above balances clients over them.
  clusterIP: None
  selector: {{- include "hc.selector" . | nindent 4 }}
  ports:
    - {name: grpc, port: 9000, protocol: TCP, targetPort: grpc, appProtocol: kubernetes.io/h2c}
{{- end }}
{{- if ne .name "site" }}
---
apiVersion: v1
kind: Service
metadata: {{- include "hc.metadata" (dict "root" .root "name" (printf "%s-admin" .name)) | nindent 2 }}
spec:
  # For operators: every pod by its own address, ready or not. Prometheus uses the port `admin`.
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {{- include "hc.selector" . | nindent 4 }}
  ports:
    - {name: operators, port: 9100, protocol: TCP, targetPort: admin}
{{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "hc.metadata" . | nindent 2 }}
spec:
  # One pod at a time, also with a single replica; pods that are not ready do not block an eviction.
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "hc.selector" . | nindent 6 }}
---
{{ include "hc.component.deployment" . }}
{{- if and .root.Values.rpcTls.issuer.name (include "hc.rpcTls.secret" .) }}
---
{{ include "hc.rpcTls.certificate" . }}
{{- end }}
{{- if and .root.Values.headsets.tls.issuer.name (include "hc.headsetTls.secret" .) }}
---
{{ include "hc.headsetTls.certificate" . }}
{{- end }}
{{- if $v.maxReplicas }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{- include "hc.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ include "hc.name" . }}}
  minReplicas: {{ $v.replicas }}
  maxReplicas: {{ $v.maxReplicas }}
  metrics:
    - type: Resource
      # A process uses one core at most.
      resource: {name: cpu, target: {type: AverageValue, averageValue: 600m}}
  behavior:
    scaleDown: {stabilizationWindowSeconds: 300}
{{- end }}
{{- end -}}

{{/* Ports of the component, as those of a container or of a Service; argument key: containerPort or port. */}}
{{- define "hc.component.ports" -}}
{{- if or .component.stores (and .component.peers (eq .key "containerPort")) }}
- {name: grpc, {{ .key }}: 9000, protocol: TCP{{ if eq .key "port" }}, targetPort: grpc, appProtocol: kubernetes.io/h2c{{ end }}}
{{- end }}
{{- with .component.public }}
- {name: {{ .name }}, {{ $.key }}: {{ .port }}, protocol: TCP{{ if eq $.key "port" }}, targetPort: {{ .name }}{{ end }}}
{{- end }}
{{- if and (eq .name "updates") (not .root.Values.s3.bucket) }}
- {name: files, {{ .key }}: 8084, protocol: TCP{{ if eq .key "port" }}, targetPort: files{{ end }}}
{{- end }}
- {name: admin, {{ .key }}: 9100, protocol: TCP{{ if eq .key "port" }}, targetPort: admin{{ end }}}
{{- end -}}

{{- define "hc.component.deployment" -}}
{{- $v := .component.values -}}
{{- $secrets := splitList " " (include "hc.secretsOf" .) -}}
{{- $args := merge (dict "secrets" $secrets) . -}}
{{- $development := and .root.Values.trial.development (ne .name "site") -}}
{{- $image := ternary .root.Values.site.image .root.Values.image (eq .name "site") -}}
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "hc.metadata" . | nindent 2 }}
spec:
  {{- if not $v.maxReplicas }}
  replicas: {{ $v.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  # Longer than the TTL of DNS answers, so that callers know a new pod before an old one stops.
  minReadySeconds: 10
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  selector:
    matchLabels: {{- include "hc.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "hc.selector" . | nindent 8 }}
      annotations:
        headset-cloud/secrets: {{ include "hc.secretsRevision" .root | quote }}
    spec:
      {{- include "hc.pod.common" . | nindent 6 }}
      terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
      topologySpreadConstraints:
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "hc.selector" $ | nindent 14 }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
      {{- if $development }}
      initContainers: {{- include "hc.development.init" . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "hc.image" $image | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          {{- with .component.entry }}
          args: [{{ if $development }}--watch, --watch-preserve-output, {{ end }}{{ . }}]
          {{- end }}
          env:
            {{- if eq .name "device-link" }}
            - name: POD_IP
              valueFrom: {fieldRef: {fieldPath: status.podIP}}
            {{- end }}
            {{- include "hc.env" (include "hc.settings.component" $args | fromYaml) | trim | nindent 12 }}
          ports: {{- include "hc.component.ports" (merge (dict "key" "containerPort") .) | trim | nindent 12 }}
          # The admin port answers first, also while a store is unavailable; then /readyz names the missing store.
          # Five minutes: on a busy node a start takes longer, and a restart would only add load.
          startupProbe:
            httpGet: {path: /livez, port: admin}
            periodSeconds: 1
            timeoutSeconds: 2
            failureThreshold: 300
          livenessProbe:
            httpGet: {path: /livez, port: admin}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet: {path: /readyz, port: admin}
            periodSeconds: 2
            timeoutSeconds: 2
            failureThreshold: 2
          lifecycle:
            preStop:
              # Endpoints, load balancers and DNS remove the pod before it gets SIGTERM.
              sleep: {seconds: 5}
          resources:
            requests: {{- toYaml (merge (dict "ephemeral-storage" "64Mi") $v.resources.requests) | nindent 14 }}
            # Logs and the volume for uploads count as storage: above the limit the kubelet evicts the pod.
            {{- $storage := "256Mi" }}
            {{- with $v.tempSize }}{{ $storage = add 268435456 (include "hc.bytes" .) | toString }}{{ end }}
            limits: {{- toYaml (merge (dict "ephemeral-storage" $storage) $v.resources.limits) | nindent 14 }}
          securityContext: {{- include "hc.container.security" . | nindent 12 }}
          volumeMounts:
            {{- include "hc.mounts" $args | nindent 12 }}
            {{- if $development }}
            {{- include "hc.development.mounts" . | nindent 12 }}
            {{- end }}
            {{- if include "hc.rpcTls.secret" . }}
            - {name: rpc-tls, mountPath: /etc/headset-cloud/rpc, readOnly: true}
            {{- end }}
            {{- if include "hc.headsetTls.secret" . }}
            - {name: headset-tls, mountPath: /etc/headset-cloud/headsets, readOnly: true}
            {{- end }}
            {{- if $v.tempSize }}
            - {name: uploads, mountPath: /var/lib/headset-cloud/uploads}
            {{- end }}
      volumes:
        {{- include "hc.volumes" $args | nindent 8 }}
        {{- if $development }}
        - name: sources
          emptyDir: {sizeLimit: 64Mi}
        {{- end }}
        {{- with include "hc.rpcTls.secret" . }}
        - name: rpc-tls
          secret: {secretName: {{ . | quote }}, defaultMode: 0440}
        {{- end }}
        {{- with include "hc.headsetTls.secret" . }}
        - name: headset-tls
          secret: {secretName: {{ . | quote }}, defaultMode: 0440, items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]}
        {{- end }}
        {{- with $v.tempSize }}
        - name: uploads
          emptyDir: {sizeLimit: {{ . }}}
        {{- end }}
{{- end -}}
