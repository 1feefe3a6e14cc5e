"""Kafka: clients, topics, access, and what the cluster says when something is wrong."""
