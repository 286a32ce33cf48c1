{{/*
What the schema cannot say: values that belong together. All problems at once, each with its path and what to do.
*/}}
{{- define "hc.validate" -}}
{{- $v := .Values -}}
{{- $production := not $v.trial.enabled -}}
{{- $p := list -}}

{{- range $form := .Files.Get "files/forms.yaml" | fromYamlArray -}}
{{- range $path := $form.paths -}}
{{- $value := $v -}}
{{- range splitList "." $path }}{{ $value = index $value . }}{{ end -}}
{{- $texts := ternary (dict $path $value) dict (kindIs "string" $value) -}}
{{- if kindIs "slice" $value }}{{ range $i, $text := $value }}{{ $_ := set $texts (printf "%s[%d]" $path $i) $text }}{{ end }}{{ end -}}
{{- range $at, $text := $texts -}}
{{- if and $text (not (regexMatch $form.pattern $text)) }}{{ $p = append $p (printf "%s is %q: give %s" $at $text $form.give) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- $images := list (dict "path" "image" "image" $v.image) -}}
{{- if $v.site.enabled }}{{ $images = append $images (dict "path" "site.image" "image" $v.site.image) }}{{ end -}}
{{- if or $v.trial.issuer (include "hc.rpcTls.trial" .) }}{{ $images = append $images (dict "path" "trial.image" "image" $v.trial.image) }}{{ end -}}
{{- range $images -}}
{{- if not .image.repository }}{{ $p = append $p (printf "%s.repository is missing: name the image, for example registry.example.com/headset-cloud." .path) }}{{ end -}}
{{- if and $production (not .image.digest) }}{{ $p = append $p (printf "%s.digest is missing: production runs images by digest (sha256:…), because a tag may move. A tag is for trial.enabled=true." .path) }}{{ end -}}
{{- if not (or .image.digest .image.tag) }}{{ $p = append $p (printf "%s has neither digest nor tag: give one." .path) }}{{ end -}}
{{- end -}}

{{- $refs := include "hc.secrets" . | fromYaml -}}
{{- range $path, $key := dict "secrets.mongodbUri" "MONGODB_URI" "secrets.secretKey" "SECRET_KEY" "secrets.adminToken" "ADMIN_TOKEN" -}}
{{- if not (index $refs $key).name }}{{ $p = append $p (printf "%s.name is missing: make a Secret whose key %s holds %s, and name it here." $path (index $refs $key).key $key) }}{{ end -}}
{{- end -}}

{{- /* Existing Secrets must have their keys; missing ones may be created later, and pods wait for them. */ -}}
{{- if $v.secrets.inspect -}}
{{- $named := list -}}
{{- range $name, $ref := omit $v.secrets "inspect" "revision" "secretKeyForAll" -}}
{{- if $ref.name }}{{ $named = append $named (dict "path" (printf "secrets.%s" $name) "kind" "Secret" "name" $ref.name "keys" (list $ref.key)) }}{{ end -}}
{{- end -}}
{{- if $v.trial.secret -}}
{{- $keys := ternary (list "issuer-clients.json") list $v.trial.issuer -}}
{{- if $v.trial.stores }}{{ $keys = concat (ternary list (list "secret-key") (ne "" $v.secrets.secretKey.name)) (ternary list (list "admin-token") (ne "" $v.secrets.adminToken.name)) $keys }}{{ end -}}
{{- $named = append $named (dict "path" "trial.secret" "kind" "Secret" "name" $v.trial.secret "keys" $keys) -}}
{{- end -}}
{{- with $v.headsets.tls.secret }}{{ $named = append $named (dict "path" "headsets.tls.secret" "kind" "Secret" "name" . "keys" (list "tls.crt" "tls.key")) }}{{ end -}}
{{- if and $v.rpcTls.secretPrefix (ne $v.rpcTls.mode "mesh") -}}
{{- range $name, $_ := omit (include "hc.components" . | fromYaml) "site" -}}
{{- $named = append $named (dict "path" "rpcTls.secretPrefix" "kind" "Secret" "name" (printf "%s-%s" $v.rpcTls.secretPrefix $name) "keys" (list "tls.crt" "tls.key" "ca.crt")) -}}
{{- end -}}
{{- end -}}
{{- with $v.caBundleConfigMap }}{{ $named = append $named (dict "path" "caBundleConfigMap" "kind" "ConfigMap" "name" . "keys" (list "ca.crt")) }}{{ end -}}
{{- range $one := $named -}}
{{- $found := lookup "v1" $one.kind $.Release.Namespace $one.name -}}
{{- range $key := ternary $one.keys list (not (empty $found)) -}}
{{- if not (hasKey ($found.data | default dict) $key) }}{{ $p = append $p (printf "%s: the %s %s in the namespace %s has no key %s (it has: %s), and pods that need it would not start: add the key, or name another one." $one.path $one.kind $one.name $.Release.Namespace $key ($found.data | default dict | keys | sortAlpha | join ", " | default "none")) }}
{{- else -}}
{{- $text := index $found.data $key -}}
{{- if eq $one.kind "Secret" }}{{ $text = b64dec $text }}{{ end -}}
{{- if not (trim $text) }}{{ $p = append $p (printf "%s: the key %s of the %s %s in the namespace %s is empty, and processes would refuse it: give it its value, or name another one." $one.path $key $one.kind $one.name $.Release.Namespace) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- if $v.trial.stores -}}
{{- if or $v.kafka.brokers }}{{ $p = append $p "kafka.brokers and trial.stores exclude each other: remove one." }}{{ end -}}
{{- else if not $v.kafka.brokers }}{{ $p = append $p "kafka.brokers is missing: name bootstrap brokers, for example kafka-0.example.com:9092,kafka-1.example.com:9092." }}{{ end -}}
{{- if and $production (lt (int $v.kafka.replicationFactor) 3) }}{{ $p = append $p (printf "kafka.replicationFactor is %v: production needs 3 at least, because with fewer the loss of one broker stops every write or loses acknowledged events." $v.kafka.replicationFactor) }}{{ end -}}

{{- $sasl := $v.kafka.sasl -}}
{{- if eq $sasl.mechanism "none" -}}
{{- if or $sasl.username $v.secrets.kafkaPassword.name }}{{ $p = append $p "kafka.sasl.mechanism is none, but a user or its password is given: name the mechanism, for example scram-sha-512." }}{{ end -}}
{{- else -}}
{{- if not $sasl.username }}{{ $p = append $p (printf "kafka.sasl.username is missing, but kafka.sasl.mechanism is %s: name the user." $sasl.mechanism) }}{{ end -}}
{{- if not $v.secrets.kafkaPassword.name }}{{ $p = append $p (printf "secrets.kafkaPassword.name is missing, but kafka.sasl.mechanism is %s: make a Secret whose key %s holds the user's password, and name it here." $sasl.mechanism $v.secrets.kafkaPassword.key) }}{{ end -}}
{{- if and $production (eq $sasl.mechanism "plain") (not $v.kafka.tls) }}{{ $p = append $p "kafka.sasl.mechanism is plain without kafka.tls: the password would be readable on the network. Set kafka.tls, or take scram-sha-512." }}{{ end -}}
{{- end -}}
{{- if and $v.trial.stores (or $v.kafka.tls (ne $sasl.mechanism "none")) }}{{ $p = append $p "kafka.tls and kafka.sasl are for brokers from outside: the trial's own has neither. Remove them, or trial.stores." }}{{ end -}}

{{- if $v.s3.bucket -}}
{{- if not (or $v.secrets.s3Credentials.name $v.components.updates.serviceAccountAnnotations) }}{{ $p = append $p "s3.bucket is set without credentials: set secrets.s3Credentials.name, or give workload identity by components.updates.serviceAccountAnnotations." }}{{ end -}}
{{- else if $production }}{{ $p = append $p "s3.bucket is missing: name the bucket of packages and firmware; it must exist." -}}
{{- else if gt (int $v.components.updates.replicas) 1 }}{{ $p = append $p (printf "components.updates.replicas is %v: without s3.bucket files lie on one pod's disk, so it must be 1." $v.components.updates.replicas) }}{{ end -}}

{{- /* Each file needs its maximum size, and 1 MiB for the file system. A service cannot read the volume's limit. */ -}}
{{- $updates := $v.components.updates -}}
{{- $checks := $updates.settings.UPDATES_CHECKS_AT_ONCE | default 2 | int64 -}}
{{- $largest := $updates.settings.UPDATES_MAX_BYTES | default 1073741824 | int64 -}}
{{- $room := mul $checks (add $largest 1048576) -}}
{{- if and $v.s3.bucket (lt (include "hc.bytes" $updates.tempSize | int64) $room) }}{{ $p = append $p (printf "components.updates.tempSize is %s, but %d files of %d bytes are checked at a time (UPDATES_CHECKS_AT_ONCE, UPDATES_MAX_BYTES), and the kubelet would evict the pod: raise it to at least %dMi, or lower these settings." $updates.tempSize $checks $largest (div (add $room 1048575) 1048576)) }}{{ end -}}

{{- if $v.trial.issuer -}}
{{- if $v.oidc.issuer }}{{ $p = append $p "oidc.issuer and trial.issuer exclude each other: remove one." }}{{ end -}}
{{- else -}}
{{- if not $v.oidc.issuer }}{{ $p = append $p "oidc.issuer is missing: the issuer of the access tokens, exactly as in their iss claim, for example https://id.example.com." }}{{ end -}}
{{- if not $v.oidc.audience }}{{ $p = append $p "oidc.audience is missing: the audience that access tokens name, for example https://api.example.com." }}{{ end -}}
{{- if and $production $v.oidc.issuer (not (hasPrefix "https://" $v.oidc.issuer)) }}{{ $p = append $p (printf "oidc.issuer is %s: production requires https, because its keys authenticate callers." $v.oidc.issuer) }}{{ end -}}
{{- end -}}

{{- range $what := list "stores" "issuer" "development" "secret" -}}
{{- if and $production (index $v.trial $what) }}{{ $p = append $p (printf "trial.%s is set without trial.enabled: it is for trials, never for production." $what) }}{{ end -}}
{{- end -}}
{{- if and (or $v.trial.stores $v.trial.issuer) (not $v.trial.secret) (not $v.secrets.inspect) }}{{ $p = append $p "trial.secret is missing, but secrets.inspect is false: the next upgrade could not keep what this one generates. Make a Secret with the keys secret-key, admin-token and issuer-clients.json, and name it here (docs/operations/trial.md)." }}{{ end -}}
{{- if eq $v.trial.secret (printf "%s-trial" .Release.Name) }}{{ $p = append $p (printf "trial.secret is %s, which is the chart's own: give yours another name." $v.trial.secret) }}{{ end -}}
{{- if and $production $v.callbacks.allowAddresses }}{{ $p = append $p "callbacks.allowAddresses is for trials: in production integrators could make the platform call private addresses. Remove it, or set trial.enabled=true." }}{{ end -}}

{{- /* Manifests would contain the password, readable for everybody who may read them. */ -}}
{{- $urls := list (list "egressProxy.url" $v.egressProxy.url "put user:password into a Secret and name it in secrets.egressProxyCredentials.name") (list "s3.endpoint" $v.s3.endpoint "the keys are in secrets.s3Credentials") (list "s3.publicEndpoint" $v.s3.publicEndpoint "integrators and headsets get signed URLs") (list "oidc.issuer" $v.oidc.issuer "an issuer's iss claim has none") (list "oidc.jwksUri" $v.oidc.jwksUri "the issuer's keys are public") (list "tracesEndpoint" $v.tracesEndpoint "let the collector take traces from the pods' network") -}}
{{- range $urls -}}
{{- if contains "@" (regexFind "^https?://[^/?#]*" (index . 1)) }}{{ $p = append $p (printf "%s has a user or password in it, which everybody who reads manifests would see: remove it; %s." (index . 0) (index . 2)) }}{{ end -}}
{{- end -}}

{{- if and $v.secrets.egressProxyCredentials.name (not $v.egressProxy.url) }}{{ $p = append $p "secrets.egressProxyCredentials.name is set without egressProxy.url: name the proxy, or remove its credentials." }}{{ end -}}

{{- $tls := $v.rpcTls -}}
{{- if has $tls.mode (list "required" "permissive") -}}
{{- if and $tls.issuer.name $tls.secretPrefix }}{{ $p = append $p "rpcTls.issuer.name and rpcTls.secretPrefix exclude each other: remove one." }}{{ end -}}
{{- if not (or $tls.issuer.name $tls.secretPrefix $v.trial.enabled) }}{{ $p = append $p (printf "rpcTls.mode is %s, but nothing creates the certificates: name cert-manager's issuer in rpcTls.issuer.name, or existing Secrets in rpcTls.secretPrefix; or set rpcTls.mode=mesh where a service mesh encrypts and authenticates." $tls.mode) }}{{ end -}}
{{- end -}}

{{- if and $v.headsets.sourceRanges (ne $v.headsets.type "LoadBalancer") }}{{ $p = append $p (printf "headsets.sourceRanges is set, but headsets.type is %s, and only a LoadBalancer enforces it: remove it, and restrict the networks in front of the Service." $v.headsets.type) }}{{ end -}}

{{- $headsetTls := $v.headsets.tls -}}
{{- if and $headsetTls.issuer.name $headsetTls.secret }}{{ $p = append $p "headsets.tls.issuer.name and headsets.tls.secret exclude each other: remove one." }}{{ end -}}
{{- if and $headsetTls.issuer.name (not $headsetTls.hosts) }}{{ $p = append $p "headsets.tls.hosts is missing: name the host that headsets connect to, for example headsets.example.com; cert-manager makes the certificate for it." }}{{ end -}}

{{- /* Only the API server can compare IPv6 networks. */ -}}
{{- range $name, $it := $v.networkPolicy -}}
{{- $path := printf "networkPolicy.%s%s" $name (ternary ".to" "" (kindIs "map" $it)) -}}
{{- $peers := ternary $it list (and (kindIs "slice" $it) (ne $name "dnsPorts")) -}}
{{- if kindIs "map" $it }}{{ $peers = $it.to }}{{ end -}}
{{- range $i, $peer := $peers -}}
{{- $block := $peer.ipBlock | default dict -}}
{{- range $selector := list "namespaceSelector" "podSelector" -}}
{{- if and $block (hasKey $peer $selector) }}{{ $p = append $p (printf "%s[%d] has ipBlock beside %s, which Kubernetes forbids: make two entries of it." $path $i $selector) }}{{ end -}}
{{- end -}}
{{- range $j, $except := $block.except -}}
{{- $v6 := contains ":" $block.cidr -}}
{{- $judged := eq $v6 (contains ":" $except) -}}
{{- if and $judged (not $v6) }}{{ $judged = include "hc.within" (list $block.cidr $except) }}{{ end -}}
{{- if not $judged }}{{ $p = append $p (printf "%s[%d].ipBlock.except[%d] (%s) is no part of the network %s, or all of it: name a smaller network within it, or remove it." $path $i $j $except $block.cidr) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- if and $v.networkPolicy.enabled $v.monitoring.serviceMonitor (not $v.networkPolicy.scrapes) }}{{ $p = append $p "networkPolicy.scrapes is empty, but monitoring.serviceMonitor is set: name the pods of Prometheus, for example by its namespace, or switch the ServiceMonitor off." }}{{ end -}}

{{- range $name, $component := include "hc.components" . | fromYaml -}}
{{- $replicas := int $component.values.replicas -}}
{{- $most := max $replicas (int $component.values.maxReplicas) -}}
{{- $path := printf "components.%s" $name -}}
{{- $r := $component.values.resources -}}
{{- if gt (include "hc.bytes" $r.requests.memory | int64) (include "hc.bytes" $r.limits.memory | int64) }}{{ $p = append $p (printf "%s.resources.requests.memory (%s) is above limits.memory (%s): raise the limit, or lower the request." (ternary "site" $path (eq $name "site")) $r.requests.memory $r.limits.memory) }}{{ end -}}
{{- /* Memory of an idle process, and of the site under load: with less the kernel kills it. */ -}}
{{- $least := get (dict "gateway" "218Mi" "site" "104Mi") $name | default "160Mi" -}}
{{- if lt (include "hc.bytes" $r.limits.memory | int64) (include "hc.bytes" $least | int64) }}{{ $p = append $p (printf "%s.resources.limits.memory is %s, but such a process takes up to %s (docs/operations/reference.md, \"Sizing\"), and would be killed: raise it." (ternary "site" $path (eq $name "site")) $r.limits.memory $least) }}{{ end -}}
{{- if and $component.values.maxReplicas (lt (int $component.values.maxReplicas) $replicas) }}{{ $p = append $p (printf "%s.maxReplicas (%v) is below %s.replicas (%d): raise it, or set it to 0 for a fixed number." $path $component.values.maxReplicas $path $replicas) }}{{ end -}}
{{- if and $component.consumes (gt $most (int $v.kafka.partitions)) }}{{ $p = append $p (printf "%s may have %d replicas, but topics have %v partitions: a consumer more than partitions is idle. Lower %s.replicas or maxReplicas, or create the topics with more partitions and raise kafka.partitions." $path $most $v.kafka.partitions $path) }}{{ end -}}
{{- end -}}

{{- $e := $v.expose -}}
{{- if and (ne $e.kind "none") (not $e.api.host) }}{{ $p = append $p (printf "expose.api.host is missing, but expose.kind is %s: give the API's host name." $e.kind) }}{{ end -}}
{{- if and (eq $e.kind "gateway") (not $e.gateway.name) }}{{ $p = append $p "expose.gateway.name is missing: name the Gateway that the HTTPRoutes belong to." }}{{ end -}}
{{- if and $e.site.host (not $v.site.enabled) }}{{ $p = append $p "expose.site.host is set, but the site is off: set site.enabled=true, or remove the host." }}{{ end -}}
{{- if and (ne $e.kind "none") $e.site.host (eq $e.site.host $e.api.host) }}{{ $p = append $p (printf "expose.site.host and expose.api.host are both %s, and both serve every path: give the site a separate host." $e.site.host) }}{{ end -}}
{{- /* Sora's webhooks have a separate path and may share a host, but a host has one certificate. */ -}}
{{- range $other := list "api" "site" -}}
{{- $way := index $e $other -}}
{{- if and (eq $e.kind "ingress") $e.sora.host (eq $e.sora.host $way.host) $e.sora.tlsSecret $way.tlsSecret (ne $e.sora.tlsSecret $way.tlsSecret) }}{{ $p = append $p (printf "expose.sora.tlsSecret (%s) and expose.%s.tlsSecret (%s) differ, but both are for %s: name the same Secret in both." $e.sora.tlsSecret $other $way.tlsSecret $e.sora.host) }}{{ end -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" .Release.Name) }}{{ $p = append $p (printf "The release is called %q, but names of Services begin with a letter and have no dots: take letters, digits and hyphens." .Release.Name) }}{{ end -}}
{{- /* Kubernetes derives labels of at most 63 characters from the names of Jobs and StatefulSets; a trial's are longer. */ -}}
{{- $longest := ternary 40 33 $production -}}
{{- if gt (len .Release.Name) $longest }}{{ $p = append $p (printf "The release's name has %d characters; names that begin with it end at 63, so take at most %d." (len .Release.Name) $longest) }}{{ end -}}

{{- if $p }}{{ fail (printf "\n\nThese values cannot work:\n  - %s\n" (join "\n  - " $p)) }}{{ end -}}
{{- end -}}
