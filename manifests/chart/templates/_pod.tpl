{{/* The pod, as the template of a DaemonSet or Deployment. */}}
{{- define "ccm.pod" -}}
{{- $annotations := merge (deepCopy .Values.podAnnotations) .Values.commonAnnotations -}}
{{- if .Values.restartOnChange }}{{ $_ := set $annotations "checksum/config" (include "ccm.checksum" .) }}{{ end -}}
metadata:
  labels:
    {{- $found := dict "k8s-app" "openstack-cloud-controller-manager" }}
    {{- toYaml (merge (include "ccm.selectorLabels" . | fromYaml) .Values.podLabels .Values.commonLabels $found) | nindent 4 }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ toYaml .Values.serviceAccountName }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - {{ if kindIs "string" . }}name: {{ toYaml . }}{{ else }}{{ toJson . }}{{ end }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ toYaml . }}
  {{- end }}
  {{- if .Values.hostNetwork }}
  # It runs before there is a pod network and cluster DNS: nodes get their
  # addresses from it.
  {{- end }}
  hostNetwork: {{ .Values.hostNetwork }}
  dnsPolicy: {{ .Values.dnsPolicy | default (ternary "Default" "ClusterFirst" .Values.hostNetwork) }}
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- include "ccm.scheduling" . | trim | nindent 2 }}
  # Room to end calls in order and to give the leader election lease back.
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- include "ccm.podSecurityContext" . | nindent 2 }}
  {{- with .Values.extraInitContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
  {{- include "ccm.container" . | nindent 2 }}
  {{- include "ccm.volumes" . | nindent 2 }}
{{- end -}}

{{- define "ccm.scheduling" -}}
{{- if .Values.affinity }}
affinity:
  {{- toYaml .Values.affinity | nindent 2 }}
{{- else if not .Values.nodeSelector }}
# Control plane nodes, by the labels of kubeadm, RKE2 and k3s (which give it the value
# "true"), and RKE1.
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]
      - matchExpressions: [{key: node-role.kubernetes.io/controlplane, operator: Exists}]
{{- end }}
{{- $selector := dict }}
{{- range $label, $value := .Values.nodeSelector }}
{{- if not (kindIs "invalid" $value) }}{{ $_ := set $selector $label (include "ccm.text" $value) }}{{ end }}
{{- end }}
{{- with $selector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{ toYaml . }}
{{- end }}
{{- $spread := .Values.topologySpreadConstraints }}
{{- if and (not $spread) (eq .Values.kind "Deployment") }}
{{- $spread = list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway") }}
{{- end }}
{{- with $spread }}
topologySpreadConstraints:
{{- range . }}
- {{ merge (deepCopy .) (dict "labelSelector" (dict "matchLabels" (include "ccm.selectorLabels" $ | fromYaml))) | toYaml | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Root cannot be asked for beside runAsNonRoot. */}}
{{- define "ccm.podSecurityContext" -}}
{{- $context := deepCopy (.Values.podSecurityContext | default dict) -}}
{{- if and (hasKey $context "runAsUser") (eq (toString $context.runAsUser) "0") }}{{ $context = omit $context "runAsNonRoot" }}{{ end -}}
{{- with $context -}}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "ccm.container" -}}
- name: openstack-cloud-controller-manager
  image: {{ include "ccm.image" . | quote }}
  {{- with .Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  # cluster-name is a part of the names of all load balancers: do not change it later.
  # Routes to pods are for clusters without an overlay network: see docs/routes.md.
  args:
  {{- include "ccm.args" . | trim | nindent 2 }}
  {{- with .Values.extraEnv }}
  env:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  ports:
  - name: https
    containerPort: {{ include "ccm.port" . }}
    {{- if .Values.hostNetwork }}
    hostPort: {{ include "ccm.port" . }}
    {{- end }}
    protocol: TCP
  {{- include "ccm.probes" . | trim | nindent 2 }}
  {{- with .Values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "ccm.mounts" . | trim }}
  volumeMounts:
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "ccm.probe" -}}
{{- $root := index . 0 -}}
httpGet:
  scheme: HTTPS
  {{- $address := include "ccm.bindAddress" $root }}
  {{- if $root.Values.hostNetwork }}
  host: {{ if has $address (list "0.0.0.0" "::") }}127.0.0.1{{ else }}{{ $address | quote }}{{ end }}
  {{- end }}
  port: {{ include "ccm.port" $root }}
  path: {{ index . 1 }}
{{- end -}}

{{- define "ccm.probes" -}}
{{- with .Values }}
{{- if .startupProbe }}
startupProbe:
  {{- toYaml .startupProbe | nindent 2 }}
{{- else if not (kindIs "bool" .startupProbe) }}
# It listens once the API server has answered, also while Keystone does not.
startupProbe:
  {{- include "ccm.probe" (list $ "/healthz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 60
{{- end }}
{{- if .livenessProbe }}
livenessProbe:
  {{- toYaml .livenessProbe | nindent 2 }}
{{- else if not (kindIs "bool" .livenessProbe) }}
livenessProbe:
  {{- include "ccm.probe" (list $ "/healthz") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 15
  failureThreshold: 8
{{- end }}
{{- if .readinessProbe }}
readinessProbe:
  {{- toYaml .readinessProbe | nindent 2 }}
{{- else if not (kindIs "bool" .readinessProbe) }}
# Fails while Keystone refuses the credentials of cloud.conf, and before it
# has answered for the first time.
readinessProbe:
  {{- include "ccm.probe" (list $ "/readyz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}
{{- end }}
{{- end -}}

{{- define "ccm.mounts" -}}
{{- if .Values.secret.enabled }}
- {name: cloud-config, mountPath: /etc/config, readOnly: true}
{{- end }}
{{- if .Values.kubeconfig.secretName }}
- {name: kubeconfig, mountPath: /etc/kubeconfig, readOnly: true}
{{- end }}
{{- if .Values.hostCertificates }}
- {name: certificates, mountPath: /etc/ssl/certs, readOnly: true}
- {name: certificates-of-red-hat, mountPath: /etc/pki/ca-trust, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "ccm.volumes" -}}
{{- if or .Values.secret.enabled .Values.kubeconfig.secretName .Values.hostCertificates .Values.extraVolumes -}}
volumes:
{{- if .Values.secret.enabled }}
- name: cloud-config
  secret:
    secretName: {{ toYaml .Values.secret.name }}
    defaultMode: 0440
{{- end }}
{{- with .Values.kubeconfig.secretName }}
- name: kubeconfig
  secret:
    secretName: {{ toYaml . }}
    defaultMode: 0440
{{- end }}
{{- if .Values.hostCertificates }}
- {name: certificates, hostPath: {path: /etc/ssl/certs, type: DirectoryOrCreate}}
- {name: certificates-of-red-hat, hostPath: {path: /etc/pki/ca-trust, type: DirectoryOrCreate}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end -}}
