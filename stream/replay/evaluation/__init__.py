"""Compare a release of any tool with its raw feed, and attack either."""
