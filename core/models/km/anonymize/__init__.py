"""The anonymizers: the SeqAnon family and least loss."""
