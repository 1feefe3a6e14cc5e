"""The worker: one process that runs ingest and windows, and the pages that show what it emitted."""
