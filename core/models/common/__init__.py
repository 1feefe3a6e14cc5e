"""What several models share: the types of a family and its plan, sequences, merging."""
