"""What `shoal size` reckons with, measured: `make bench-size`."""
