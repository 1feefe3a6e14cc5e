"""Ingest: records are validated, located and sorted into shards."""
