"""A large fleet on one machine: `make simulate-fleet`."""
