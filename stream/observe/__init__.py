"""What can be observed of a worker: metrics, logs and health."""
