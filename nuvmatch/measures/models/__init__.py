"""Tone models: the share of a window's variance that a template leaves unexplained."""
