"""One module per family of anonymization algorithms."""
