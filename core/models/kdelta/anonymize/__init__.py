"""The anonymizers: Never Walk Alone, Wait for Me and its personalized, segmented and bounded forms."""
