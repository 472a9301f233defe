"""Many files: templates sought in any number of scenes, kept as one table."""

from .locating import Summary, locate_in_files
from .tables import COLUMNS, TABLES

__all__ = ["COLUMNS", "TABLES", "Summary", "locate_in_files"]
