"""Input: how a message of a topic, or an element of a file, becomes a record."""
