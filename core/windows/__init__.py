"""Windows: event time, watermarks, buffers and seals, as state machines."""
