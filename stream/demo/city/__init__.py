"""A simulated city: seeded roads, venues and people with habits."""
