{{- define "pointsman.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "pointsman.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "pointsman.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "pointsman.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "pointsman.selectorLabels" -}}
app.kubernetes.io/name: {{ include "pointsman.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pointsman.labels" -}}
{{ include "pointsman.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "pointsman.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "pointsman.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "pointsman.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Namespace of the engines. */}}
{{- define "pointsman.enginesNamespace" -}}
{{- default .Release.Namespace .Values.discovery.namespace }}
{{- end }}

{{/* Not empty if the admin listener is on the pod's address. */}}
{{- define "pointsman.adminOpen" -}}
{{- if and .Values.admin.clientCa (not .Values.tls.admin) }}{{ fail "admin.clientCa: set without tls.admin, the certificate of the listener" }}{{ end }}
{{- if or .Values.admin.secret.name .Values.admin.clientCa .Values.admin.insecure }}true{{ end }}
{{- end }}

{{/* Names and numbers of the ports with certificates, as texts between commas. */}}
{{- define "pointsman.tlsPorts" -}}
{{- $ports := list "" }}
{{- range $port, $name := dict "clients" "http" "admin" "admin" "metrics" "metrics" }}
{{- if index $.Values.tls $port }}{{ $ports = append (append $ports $name) (toString (int (index $.Values.ports $name))) }}{{ end }}
{{- end }}
{{- append $ports "" | join "," }}
{{- end }}

{{- define "pointsman.adminService" -}}
{{- include "pointsman.fullname" . | trunc 57 }}-admin
{{- end }}

{{/* The configuration file: the values, names of the admin listener, and discovery. */}}
{{- define "pointsman.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if and .Values.admin.service (include "pointsman.adminOpen" .) }}
{{- $admin := default dict $config.admin }}
{{- $service := include "pointsman.adminService" . }}
{{- $in := printf "%s.%s" $service .Release.Namespace }}
{{- $names := concat (default list $admin.names) (list $service $in (printf "%s.svc" $in) (printf "%s.svc.cluster.local" $in)) }}
{{- $_ := set $config "admin" (merge (dict "names" $names) $admin) }}
{{- end }}
{{- with .Values.discovery }}
{{- if .enabled }}
{{- $found := dict "find" .find "port" (int .port) }}
{{- with .ports }}{{ $_ := set $found "ports" . }}{{ end }}
{{- if .expectModels }}{{ $_ := set $found "expect-models" true }}{{ end }}
{{- if not .allNamespaces }}{{ $_ := set $found "namespace" (include "pointsman.enginesNamespace" $) }}{{ end }}
{{- with .selector }}{{ $_ := set $found "selector" . }}{{ end }}
{{- with .prefillSelector }}{{ $_ := set $found "prefill-selector" . }}{{ end }}
{{- with .decodeSelector }}{{ $_ := set $found "decode-selector" . }}{{ end }}
{{- $_ := set $config "kubernetes" (mergeOverwrite $found (default dict $config.kubernetes)) }}
{{- end }}
{{- end }}
{{- toYaml $config }}
{{- end }}
