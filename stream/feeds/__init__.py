"""Feeds: from the settings of one kind of feed to the objects of ``core`` that do its work."""
