"""The edge of Shoal: Kafka, files, clock, logs, metrics and the command line."""
