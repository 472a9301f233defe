"""Tones answer: how do slice sums become a score.

It knows curves over bins and nothing of images.
"""
