"""Windows: the shards topic is gathered in windows, which are sealed, released and emitted."""
