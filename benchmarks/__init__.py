"""Commands that measure: each prints a table and can write JSON."""
