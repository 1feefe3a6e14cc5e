"""Guesses: which settings would read what documents hold."""
