"""Many templates, turned and resized: they multiply matchers, and compete for each place."""

from .search import Search

__all__ = ["Search"]
