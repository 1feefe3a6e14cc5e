"""Kafka: clients, topics, access rights, and explanations of the cluster's errors."""
