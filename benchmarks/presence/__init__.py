"""Whether false alarms told are those seen, and whether templates that are there are kept."""
