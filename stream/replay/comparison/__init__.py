"""Comparisons: the windows of a file, released under many settings, and what each of them costs and risks."""
