"""The pure half of Shoal: data in, data out."""
