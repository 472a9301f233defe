"""The engine answers: what are the slice sums of every window, fast.

It knows pixels and nothing of statistics or of how a template was cut into slices. The rest
of the package sees it through these names only.
"""

from .images import Image, ends_around, prepare, unit_scale
from .joint import (
    BinSums,
    JointSums,
    Shape,
    SumUp,
    Terms,
    for_each_bin_sum,
    for_each_joint_sum,
)
from .lattices import Lattice, Spacing, find_lattice, find_spacing, sample_step
from .maps import replace_nan
from .products import (
    Pattern,
    ProductScore,
    TileProducts,
    Wanted,
    for_each_product,
    products_at,
)
from .programs import Programs
from .projections import Projections, TileProjections
from .slices import Slices
from .stopping import BestWindows, Stopping
from .sums import TileSums, for_each_tile
from .surveys import Seen, Survey, ends_within, range_step, usual_range
from .threads import Tile, available_cpus, run

__all__ = [
    "BestWindows",
    "BinSums",
    "Image",
    "JointSums",
    "Lattice",
    "Pattern",
    "ProductScore",
    "Programs",
    "Projections",
    "Seen",
    "Shape",
    "Slices",
    "Spacing",
    "Stopping",
    "SumUp",
    "Survey",
    "Terms",
    "Tile",
    "TileProducts",
    "TileProjections",
    "TileSums",
    "Wanted",
    "available_cpus",
    "ends_around",
    "ends_within",
    "find_lattice",
    "find_spacing",
    "for_each_bin_sum",
    "for_each_joint_sum",
    "for_each_product",
    "for_each_tile",
    "prepare",
    "products_at",
    "range_step",
    "replace_nan",
    "run",
    "sample_step",
    "unit_scale",
    "usual_range",
]
