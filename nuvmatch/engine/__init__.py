"""The engine answers: what are the slice sums of every window, fast.

It knows pixels and nothing of statistics or of how a template was cut into slices.
"""
