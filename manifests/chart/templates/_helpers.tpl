{{/* The name of all objects that have none of their own. */}}
{{- define "ccm.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels that select the pods: by default those of cloud-provider-openstack's chart,
so that its DaemonSet can be upgraded in place. */}}
{{- define "ccm.selectorLabels" -}}
{{- with .Values.selectorLabels -}}
{{- toYaml . -}}
{{- else -}}
app: {{ include "ccm.name" . | toYaml }}
component: controllermanager
release: {{ .Release.Name | toYaml }}
{{- end -}}
{{- end -}}

{{/* The labels of all objects. */}}
{{- define "ccm.labels" -}}
{{- $labels := include "ccm.selectorLabels" . | fromYaml -}}
{{- if .Values.helmLabels -}}
{{- $labels = merge (dict
  "app.kubernetes.io/name" (include "ccm.name" .)
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" (.Chart.AppVersion | replace "+" "_" | trunc 63)
  "app.kubernetes.io/managed-by" .Release.Service
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
) $labels -}}
{{- end -}}
{{- toYaml (merge (deepCopy .Values.commonLabels) $labels) -}}
{{- end -}}

{{/* The metadata below name and namespace; more labels and annotations come with a list of
the root, the labels and the annotations. */}}
{{- define "ccm.metadata" -}}
{{- $root := index . 0 -}}
labels:
  {{- toYaml (merge (deepCopy (index . 1 | default dict)) (include "ccm.labels" $root | fromYaml)) | nindent 2 }}
{{- with merge (deepCopy (index . 2 | default dict)) $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "ccm.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else if eq (toString .tag) "none" -}}
{{ .repository }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether a client outside of the node, or of the pod, must reach the port. */}}
{{- define "ccm.ownBindAddress" -}}
{{- if .Values.bindAddress -}}
{{ .Values.bindAddress }}
{{- else if or .Values.serviceMonitor.enabled .Values.podMonitor.enabled .Values.service.enabled (not .Values.hostNetwork) -}}
0.0.0.0
{{- else -}}
127.0.0.1
{{- end -}}
{{- end -}}

{{/* The flags that the chart gives, by name, in their order. */}}
{{- define "ccm.ownArgs" -}}
{{- $v := .Values -}}
- [cloud-provider, openstack]
- [cloud-config, {{ printf "/etc/config/%s" $v.secret.key | quote }}]
- [cluster-name, {{ $v.cluster.name | quote }}]
{{- if and $v.enabledControllers (ne (join "," $v.enabledControllers) "*") }}
- [controllers, {{ join "," $v.enabledControllers | quote }}]
{{- end }}
- [leader-elect, {{ $v.leaderElection.enabled }}]
{{- with $v.leaderElection.name }}
- [leader-elect-resource-name, {{ . | quote }}]
{{- end }}
{{- if ne $v.leaderElection.namespace "kube-system" }}
- [leader-elect-resource-namespace, {{ $v.leaderElection.namespace | quote }}]
{{- end }}
- [use-service-account-credentials, false]
{{- if $v.kubeconfig.secretName }}
{{- range list "kubeconfig" "authentication-kubeconfig" "authorization-kubeconfig" }}
- [{{ . }}, {{ printf "/etc/kubeconfig/%s" $v.kubeconfig.key | quote }}]
{{- end }}
{{- end }}
- [bind-address, {{ include "ccm.ownBindAddress" . | quote }}]
- [secure-port, {{ $v.port }}]
- [webhook-secure-port, 0]
{{- if $v.readinessGates.enabled }}
- [pod-readiness-gates, true]
{{- end }}
- [v, {{ $v.logVerbosityLevel }}]
{{- end -}}

{{/* All flags: those of the chart, unless args has them, then the others of args. */}}
{{- define "ccm.args" -}}
{{- $given := .Values.args | default dict -}}
{{- $own := dict -}}
{{- range include "ccm.ownArgs" . | fromYamlArray }}
{{- $name := index . 0 -}}
{{- $_ := set $own $name true -}}
{{- $value := index . 1 -}}
{{- if hasKey $given $name }}{{ $value = index $given $name }}{{ end -}}
{{- include "ccm.arg" (list $name $value) -}}
{{- end -}}
{{- range $name, $value := $given -}}
{{- if not (hasKey $own $name) }}{{ include "ccm.arg" (list $name $value) }}{{ end -}}
{{- end -}}
{{- if kindIs "string" .Values.controllerExtraArgs }}
{{- with tpl .Values.controllerExtraArgs . | trim }}
{{ . }}
{{- end }}
{{- else }}
{{- with .Values.controllerExtraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What a flag is in the end, as args and controllerExtraArgs have precedence: a list of the root,
the name, and "bool" or "list" for flags of these types. Empty where no argument gives it. */}}
{{- define "ccm.flag" -}}
{{- $name := index . 1 -}}
{{- $type := index (append . "text") 2 -}}
{{- $values := list -}}
{{- $follows := false -}}
{{- range include "ccm.args" (index . 0) | fromYamlArray -}}
{{- $arg := splitn "=" 2 (toString .) -}}
{{- if $follows -}}
{{- $values = append $values (toString .) -}}
{{- $follows = false -}}
{{- else if eq ($arg._0 | replace "_" "-") (printf "--%s" $name) -}}
{{- if contains "=" (toString .) -}}
{{- $values = append $values $arg._1 -}}
{{- else if eq $type "bool" -}}
{{- $values = append $values "true" -}}
{{- else -}}
{{- $follows = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq $type "list" }}{{ join "," $values }}{{ else if $values }}{{ last $values }}{{ end -}}
{{- end -}}

{{/* "true" where a flag of type bool is true in the end: a list of the root, the name, and what it is
where no argument gives it. */}}
{{- define "ccm.isTrue" -}}
{{- $value := include "ccm.flag" (list (index . 0) (index . 1) "bool") | default (index . 2) | lower -}}
{{- if has $value (list "true" "t" "1") }}true{{ end -}}
{{- end -}}

{{- define "ccm.port" -}}
{{- include "ccm.flag" (list . "secure-port") | default "10258" -}}
{{- end -}}

{{- define "ccm.bindAddress" -}}
{{- include "ccm.flag" (list . "bind-address") | default "0.0.0.0" -}}
{{- end -}}

{{/* The name of the lease, and its namespace. */}}
{{- define "ccm.lease" -}}
{{- include "ccm.flag" (list . "leader-elect-resource-name") | default "cloud-controller-manager" -}}
{{- if include "ccm.isTrue" (list . "dry-run" "false") }}-dry-run{{ end -}}
{{- end -}}

{{- define "ccm.leaseNamespace" -}}
{{- include "ccm.flag" (list . "leader-elect-resource-namespace") | default "kube-system" -}}
{{- end -}}

{{/* "true" where a controller runs: a list of the root, and the names that it has. */}}
{{- define "ccm.runs" -}}
{{- $names := rest . -}}
{{- $runs := "" -}}
{{- $named := false -}}
{{- range include "ccm.flag" (list (first .) "controllers" "list") | default "*" | splitList "," -}}
{{- if $named -}}
{{- else if has . $names -}}
{{- $named = true -}}
{{- $runs = "true" -}}
{{- else if has (trimPrefix "-" .) $names -}}
{{- $named = true -}}
{{- $runs = "" -}}
{{- else if eq . "*" -}}
{{- $runs = "true" -}}
{{- end -}}
{{- end -}}
{{- $runs -}}
{{- end -}}

{{- define "ccm.arg" -}}
{{- $name := index . 0 -}}
{{- $value := index . 1 -}}
{{- if kindIs "slice" $value -}}
{{- range $value }}
- {{ printf "--%s=%s" $name (include "ccm.text" .) | toJson }}
{{- end }}
{{- else if not (kindIs "invalid" $value) }}
{{- $arg := printf "--%s=%s" $name (include "ccm.text" $value) }}
- {{ if regexMatch "^[-A-Za-z0-9_=./,]+$" $arg }}{{ $arg }}{{ else }}{{ toJson $arg }}{{ end }}
{{- end }}
{{- end -}}

{{/* A scalar as text: numbers without an exponent. */}}
{{- define "ccm.text" -}}
{{- if kindIs "float64" . -}}
{{- if eq . (floor .) }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* A key of cloud.conf: in quotes, with the escapes that it knows. */}}
{{- define "ccm.key" -}}
{{- $key := index . 0 -}}
{{- $value := index . 1 -}}
{{- if kindIs "slice" $value -}}
{{- range $value }}{{ include "ccm.key" (list $key .) }}{{ end -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $text := include "ccm.text" $value }}
{{ $key }}="{{ $text | replace "\\" "\\\\" | replace "\"" "\\\"" | replace "\n" "\\n" | replace "\t" "\\t" }}"
{{- end -}}
{{- end -}}

{{- define "ccm.section" -}}
[{{ index . 0 }}]
{{- range $key, $value := index . 1 }}{{ include "ccm.key" (list $key $value) }}{{ end }}
{{ end -}}

{{/* cloud.conf. */}}
{{- define "ccm.cloudConf" -}}
{{- if .Values.cloudConfigContents -}}
{{ .Values.cloudConfigContents }}
{{- else -}}
{{- $conf := .Values.cloudConfig -}}
{{- $global := deepCopy ($conf.global | default dict) -}}
{{- if and .Values.ca (not (hasKey $global "ca-file")) }}{{ $_ := set $global "ca-file" "/etc/config/ca.crt" }}{{ end -}}
{{- if not (or (index $global "auth-url") (index $global "use-clouds")) -}}
{{- fail "cloudConfig.global.auth-url, the URL of Keystone, is missing. Where the Secret with cloud.conf exists already: secret.create=false" -}}
{{- end -}}
{{- include "ccm.section" (list "Global" $global) -}}
{{- range $key, $name := dict "loadBalancer" "LoadBalancer" "networking" "Networking" "node" "Node" "route" "Route" "metadata" "Metadata" "limits" "Limits" -}}
{{- with index $conf $key }}
{{ include "ccm.section" (list $name .) -}}
{{- end -}}
{{- end -}}
{{- range $class, $keys := $conf.loadBalancerClass }}
{{ include "ccm.section" (list (printf "LoadBalancerClass \"%s\"" ($class | replace "\\" "\\\\" | replace "\"" "\\\"")) ($keys | default dict)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What of the Secret is in force after a restart only, or may be. */}}
{{- define "ccm.checksum" -}}
{{ printf "%s%s%s" (include "ccm.cloudConf" .) .Values.ca (toYaml .Values.secret.files) | sha256sum }}
{{- end -}}
