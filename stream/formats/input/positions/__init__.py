"""Positions as text or in binary form become numbers."""
