"""Traces and metrics by OpenTelemetry; imported only if they are configured."""
