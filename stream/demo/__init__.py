"""The demo: an embedded broker, a worker and a simulated city."""
