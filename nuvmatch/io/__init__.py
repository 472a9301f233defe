"""Image files in and out."""

from .pixels import to_grey
from .reading import count_pages, nodata_of, read_image, read_pages
from .stills import FORMATS
from .writing import (
    MAPS,
    PICTURES,
    check_output,
    check_outputs,
    write_map,
    write_picture,
    write_whole,
    written_whole,
)

__all__ = [
    "FORMATS",
    "MAPS",
    "PICTURES",
    "check_output",
    "check_outputs",
    "count_pages",
    "nodata_of",
    "read_image",
    "read_pages",
    "to_grey",
    "write_map",
    "write_picture",
    "write_whole",
    "written_whole",
]
