{{/* What Kafka has to have for a release: the topics of `shoal topics create`, and the rights of `shoal topics acls`. The tests
     compare both with the program. */}}

{{/* Whether the topics Job creates topics. */}}
{{- define "shoal.createsTopics" -}}{{ if and .Values.topicsJob.enabled .Values.topicsJob.create (not .Values.strimzi.enabled) }}true{{ end }}{{- end -}}

{{/* A duration such as 20s in milliseconds. */}}
{{- define "shoal.ms" -}}
{{- $text := . | toString | nospace -}}
{{- mul (regexFind "^[0-9]+" $text | int64) (get (dict "" 1 "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 "w" 604800000) (regexReplaceAll "^[0-9]+" $text "")) -}}
{{- end -}}

{{/* A size such as 1MiB in bytes. */}}
{{- define "shoal.bytes" -}}
{{- $text := ternary (. | toString | nospace) (int64 . | toString) (kindIs "string" .) -}}
{{- mul (regexFind "^[0-9]+" $text | int64) (get (dict "" 1 "B" 1 "KiB" 1024 "MiB" 1048576 "GiB" 1073741824) (regexReplaceAll "^[0-9]+" $text "")) -}}
{{- end -}}

{{/* The input of a feed, as JSON: its topics (`names`), or what the topics of its `pattern` begin with (`prefix`). */}}
{{- define "shoal.input" -}}
{{- $given := . -}}
{{- if kindIs "slice" $given }}{{ $given = join "," $given }}{{ end -}}
{{- $given = toString (default "" $given) -}}
{{- if hasPrefix "^" $given -}}
{{- $rest := trimPrefix "^" $given -}}
{{- $outside := regexReplaceAll "\\\\.|\\[[^\\]]*\\]" $rest "" -}}
{{- range until 50 }}{{ $outside = regexReplaceAll "\\([^()]*\\)" $outside "" }}{{ end -}}
{{- $prefix := ternary "" (regexFind "^([A-Za-z0-9_-]|\\\\[._-])*" $rest) (contains "|" $outside) -}}
{{- if regexMatch "^[*?{]" (trimPrefix $prefix $rest) -}}
{{- /* The last character may be left out. */ -}}
{{- $prefix = regexReplaceAll "(\\\\.|[^\\\\])$" $prefix "" -}}
{{- end -}}
{{- dict "pattern" $given "prefix" (replace "\\" "" $prefix) "names" list | toJson -}}
{{- else -}}
{{- dict "pattern" "" "names" (ternary (splitList "," (nospace $given)) list (ne $given "")) | toJson -}}
{{- end -}}
{{- end -}}

{{/* The topics, as a JSON list of `name`, `partitions` and `config`. */}}
{{- define "shoal.topics" -}}
{{- $config := .Values.config -}}
{{- $kinds := get (dict "none" (list "checkins" "fragments") "only" (list "checkins" "stops")) (toString $config.stops.of_fragments) | default (list "checkins" "fragments" "stops") -}}
{{- $open := 0 -}}
{{- range $kind := $kinds -}}
{{- if get $config.topics (ternary "fragments" $kind (eq $kind "stops")) -}}
{{- $of := 0 -}}
{{- range $name := list "size" "allowed_lateness" "idle_timeout" -}}
{{- $own := index (default (dict) (get (default (dict) (get $config $kind)) "window")) $name -}}
{{- $of = add $of (include "shoal.ms" (ternary (get $config.window $name) $own (kindIs "invalid" $own)) | int64) -}}
{{- end -}}
{{- $open = max $open $of -}}
{{- end -}}
{{- end -}}
{{- $partitions := int64 $config.kafka.partitions -}}
{{- $chunks := include "shoal.bytes" $config.ingest.chunk_bytes | int64 -}}
{{- $messages := include "shoal.bytes" $config.limits.message_bytes | int64 -}}
{{- /* Longer than a broker accepts by default. */ -}}
{{- $ofChunks := ternary (dict "max.message.bytes" (toString $chunks)) dict (gt $chunks 1048588) -}}
{{- $ofMessages := ternary (dict "max.message.bytes" (toString $messages)) dict (gt $messages 1048588) -}}
{{- $keep := dict "cleanup.policy" "delete" "retention.ms" (add (mul 2 $open) 604800000 | toString) "retention.bytes" "-1" -}}
{{- $compacted := dict "cleanup.policy" "compact" "min.compaction.lag.ms" "86400000" "segment.ms" "3600000" "segment.bytes" "67108864" -}}
{{- $topics := list -}}
{{- if .Values.strimzi.inputTopics -}}
{{- range list "checkins" "fragments" -}}
{{- range (include "shoal.input" (get $config.topics .) | fromJson).names -}}
{{- $topics = append $topics (dict "name" . "partitions" $partitions "config" dict) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $topics = append $topics (dict "name" $config.topics.shards "partitions" $partitions "config" (merge $keep $ofChunks)) -}}
{{- $topics = append $topics (dict "name" $config.topics.seals "partitions" $partitions "config" $compacted) -}}
{{- $topics = append $topics (dict "name" $config.topics.anonymized "partitions" $partitions "config" $ofMessages) -}}
{{- $topics = append $topics (dict "name" $config.topics.windows "partitions" 1 "config" $ofMessages) -}}
{{- $topics = append $topics (dict "name" $config.topics.dead_letters "partitions" 1 "config" dict) -}}
{{- toJson $topics -}}
{{- end -}}

{{/* The rights of a worker, as Strimzi writes them. */}}
{{- define "shoal.workerAcls" -}}
{{- $topics := .Values.config.topics -}}
{{- $group := .Values.config.kafka.group -}}
{{- $inputs := list -}}
{{- range list "checkins" "fragments" -}}
{{- $input := include "shoal.input" (get $topics .) | fromJson -}}
{{- range $input.names }}{{ $inputs = append $inputs (dict "name" . "patternType" "literal") }}{{ end -}}
{{- if and $input.pattern $input.prefix -}}
{{- $inputs = append $inputs (dict "name" $input.prefix "patternType" "prefix") -}}
{{- else if $input.pattern -}}
{{- $inputs = append $inputs (dict "name" "*" "patternType" "literal") -}}
{{- end -}}
{{- end -}}
{{- $acls := list -}}
{{- range $inputs }}{{ $acls = append $acls (dict "resource" (merge (dict "type" "topic") .) "operations" (list "Read")) }}{{ end -}}
{{- range list "ingest" "windows" -}}
{{- $acls = append $acls (dict "resource" (dict "type" "group" "name" (printf "%s-%s" $group .) "patternType" "literal") "operations" (list "Read")) -}}
{{- end -}}
{{- range $name, $operations := dict "shards" (list "Read" "Write" "DescribeConfigs") "seals" (list "Read" "Write" "DescribeConfigs") "anonymized" (list "Write" "DescribeConfigs") "windows" (list "Read" "Write" "DescribeConfigs") "dead_letters" (list "Write") -}}
{{- $acls = append $acls (dict "resource" (dict "type" "topic" "name" (get $topics $name) "patternType" "literal") "operations" $operations) -}}
{{- end -}}
{{- toYaml $acls -}}
{{- end -}}

{{/* The rights of a program that reads the releases. */}}
{{- define "shoal.consumerAcls" -}}
{{- $acls := list -}}
{{- range list .Values.config.topics.anonymized .Values.config.topics.windows -}}
{{- $acls = append $acls (dict "resource" (dict "type" "topic" "name" . "patternType" "literal") "operations" (list "Read")) -}}
{{- end -}}
{{- $group := default (printf "%s-consumer" .Values.config.kafka.group) .Values.strimzi.consumer.group -}}
{{- append $acls (dict "resource" (dict "type" "group" "name" $group "patternType" "literal") "operations" (list "Read")) | toYaml -}}
{{- end -}}

{{/* The name of a topic's resource. One that Kubernetes does not take is written differently, and made unique by its digest. */}}
{{- define "shoal.kafkaTopicName" -}}
{{- if regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" . -}}{{ . }}
{{- else -}}{{ printf "%s-%s" (regexReplaceAll "[^a-z0-9]+" (lower .) "-" | trimAll "-" | default "topic" | trunc 200 | trimSuffix "-") (sha256sum . | trunc 8) }}
{{- end -}}
{{- end -}}

{{/* Names of the users; Strimzi gives their Secrets the same names. */}}
{{- define "shoal.strimziUser" -}}{{ default (include "shoal.nameIn" (list . .Values.strimzi.namespace)) .Values.strimzi.user.name }}{{- end -}}
{{- define "shoal.strimziConsumer" -}}{{ default (printf "%s-consumer" (include "shoal.nameIn" (list . .Values.strimzi.namespace))) .Values.strimzi.consumer.name }}{{- end -}}
