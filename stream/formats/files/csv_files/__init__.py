"""CSV: dialects, headers, lines, and the records of a file."""
