"""The anonymizer: horizontal and vertical partitions, and shared chunks."""
