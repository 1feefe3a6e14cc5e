"""The models, a folder each; ``registry.py`` lists them."""
