{{/* The labels of one component; called with a dict of `root` and `component`. */}}
{{- define "croupier.labels" -}}
app.kubernetes.io/name: croupier
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Options of `croupier serve` as variables. */}}
{{- define "croupier.variables" -}}
{{- range $name, $value := . }}
{{- /* A number of a file of values is a float, which would become 1e+06. */}}
CROUPIER_{{ $name | upper | replace "-" "_" }}: {{ (kindIs "float64" $value | ternary (int64 $value) $value) | toString | quote }}
{{- end }}
{{- end }}

{{/* The processors of a component in whole numbers, as Python would count those of the node. */}}
{{- define "croupier.processors" -}}
{{- $cpu := toString (index .root.Values .component).resources.limits.cpu }}
{{- hasSuffix "m" $cpu | ternary (div (int (trimSuffix "m" $cpu)) 1000) (int (float64 $cpu)) }}
{{- end }}

{{/* Options that follow from the other values. */}}
{{- define "croupier.options.server" -}}
listen: 0.0.0.0:50051
web: 0.0.0.0:8080
metrics-host: 0.0.0.0
metrics-port: 9464
# One processor is left to the calls.
search-threads: {{ max 1 (sub (int (include "croupier.processors" (dict "root" . "component" "server"))) 1) }}
{{- if eq .Values.store.kind "sqlite" }}
store: sqlite
data: /data
{{- end }}
config: /etc/croupier/croupier.toml
{{- if .Values.callers }}
callers-file: /etc/croupier-callers/callers.toml
{{- end }}
{{- if .Values.search.enabled }}
search-at: dns:///{{ .Release.Name }}-search:50051
{{- end }}
{{- end }}

{{- define "croupier.options.search" -}}
role: search
listen: 0.0.0.0:50051
web: "off"
metrics-host: 0.0.0.0
metrics-port: 9464
search-threads: {{ max 1 (int (include "croupier.processors" (dict "root" . "component" "search"))) }}
{{- end }}

{{/* What the pods of both components have in common; called as croupier.labels. */}}
{{- define "croupier.pod" -}}
{{- $own := index .root.Values .component -}}
serviceAccountName: {{ .root.Release.Name }}
automountServiceAccountToken: false
# Otherwise Kubernetes would set CROUPIER_PORT and the like, which look like options.
enableServiceLinks: false
# 5 seconds of preStop, 5 in which calls end, and a margin for a busy node.
terminationGracePeriodSeconds: 30
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with $own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "croupier.labels" $ | nindent 8 }}
  {{- end }}
containers:
  - name: croupier
    image: {{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: [serve]
    envFrom:
      - configMapRef:
          name: {{ .root.Release.Name }}-{{ .component }}
    ports:
      - name: grpc
        containerPort: 50051
      {{- if eq .component "server" }}
      - name: web
        containerPort: 8080
      {{- end }}
      - name: metrics
        containerPort: 9464
    startupProbe:
      grpc: {port: 50051}
      periodSeconds: 1
      failureThreshold: 60
    readinessProbe:
      grpc: {port: 50051}
      periodSeconds: 2
      timeoutSeconds: 2
      failureThreshold: 2
    # A server whose store fails is alive, and repairs itself. Only one that does not answer at all is
    # restarted.
    livenessProbe:
      grpc: {port: 50051}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    lifecycle:
      preStop:
        # Until then the pod answers as usual, while the last proxy learns that it goes.
        sleep: {seconds: 5}
    resources: {{- toYaml $own.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
{{- end }}
