"""Ingest: input topics are read in batches, and what they hold goes to the shards topic."""
