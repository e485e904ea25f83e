{{- define "memplatform.labels" -}}
app.kubernetes.io/name: memplatform
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "memplatform.allLabels" -}}
{{ include "memplatform.labels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "memplatform.name" -}}
{{ printf "%s-%s" .root.Release.Name .part | trunc 52 | trimSuffix "-" }}
{{- end }}

{{/* The pod of one part: a user without rights, a file system that is read, two folders to write into. */}}
{{- define "memplatform.pod" -}}
{{- $values := .root.Values -}}
{{- $part := .part -}}
{{- $hasFiles := and $values.files.enabled (ne $part "mcp") -}}
metadata:
  labels:
    {{- include "memplatform.allLabels" . | nindent 4 }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 45
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "memplatform.labels" . | nindent 10 }}
  containers:
    - name: {{ $part }}
      image: "{{ $values.image.repository }}:{{ $values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: [up, --only, {{ $part }}]
      env:
        {{- range $key := list "DATABASE_URL" "SECRET_KEY" "MEMPLATFORM_METRICS_KEY" }}
        - name: {{ $key }}
          valueFrom:
            secretKeyRef: {name: {{ $values.existingSecret }}, key: {{ $key }}}
        {{- end }}
        {{- if $values.databaseReplicas }}
        - name: DATABASE_REPLICA_URL
          value: {{ $values.databaseReplicas | quote }}
        {{- end }}
        - name: MEMPLATFORM_DATA
          value: /var/lib/memplatform
        {{- with $values.publicUrl }}
        - name: MEMPLATFORM_PUBLIC_URL
          value: {{ . | quote }}
        {{- end }}
        {{- with $values.trustedProxies }}
        - name: MEMPLATFORM_TRUSTED_PROXIES
          value: {{ . | quote }}
        {{- end }}
        {{- if $hasFiles }}
        - name: MEMORY_FILES_ROOT
          value: /srv/memory
        {{- end }}
        {{- if eq $part "mcp" }}
        - name: MEMPLATFORM_API_URL
          value: http://{{ include "memplatform.name" (dict "root" .root "part" "web") }}:8000
        {{- end }}
        - name: POD_IP
          valueFrom:
            fieldRef: {fieldPath: status.podIP}
        # What it may be called by: its address, as Prometheus calls it, and every name of the services.
        - name: ALLOWED_HOSTS
          value: "$(POD_IP),[$(POD_IP)]
            {{- range $served := list "web" "mcp" }}
            {{- $name := include "memplatform.name" (dict "root" $.root "part" $served) }}
            {{- $long := printf "%s.%s" $name $.root.Release.Namespace -}}
            ,\
            {{ $name }},{{ $long }},\
            {{ $long }}.svc,{{ $long }}.svc.cluster.local
            {{- end }}"
        {{- range $key, $value := $values.settings }}
        - name: {{ $key }}
          value: {{ $value | quote }}
        {{- end }}
      {{- if eq $part "web" }}
      ports:
        - {name: http, containerPort: 8000}
      startupProbe:
        httpGet: {path: /readyz, port: http, httpHeaders: [{name: Host, value: localhost}]}
        periodSeconds: 5
        timeoutSeconds: 4
        failureThreshold: 36
      readinessProbe:
        httpGet: {path: /livez, port: http, httpHeaders: [{name: Host, value: localhost}]}
        periodSeconds: 5
        timeoutSeconds: 4
      livenessProbe:
        httpGet: {path: /livez, port: http, httpHeaders: [{name: Host, value: localhost}]}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      {{- else if eq $part "mcp" }}
      ports:
        - {name: mcp, containerPort: 8002}
      readinessProbe:
        tcpSocket: {port: mcp}
        periodSeconds: 5
      {{- end }}
      resources:
        {{- toYaml (index $values.parts $part).resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: data, mountPath: /var/lib/memplatform}
        - {name: tmp, mountPath: /tmp}
        {{- if $hasFiles }}
        - {name: files, mountPath: /srv/memory}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if ne $part "web" }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- if $hasFiles }}
    - name: files
      persistentVolumeClaim: {claimName: {{ .root.Release.Name }}-files}
    {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
