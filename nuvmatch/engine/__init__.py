"""The engine answers: what are the slice sums of every window, fast.

It knows pixels and nothing of statistics or of how a template was cut into slices. The rest
of the package sees it through these names only.
"""

from .images import Image, prepare, unit_scale
from .joint import BinSums, JointSumsOf, Shape, for_each_bin_sum, for_each_joint_sum
from .lattices import Lattice, find_lattice
from .maps import replace_nan
from .products import Pattern, ProductScore, TileProducts, for_each_product, products_at
from .programs import Programs
from .projections import Projections, TileProjections
from .slices import Slices
from .stopping import BestWindows, Stopping
from .sums import TileSums, for_each_tile
from .threads import Tile, available_cpus, run

__all__ = [
    "BestWindows",
    "BinSums",
    "Image",
    "JointSumsOf",
    "Lattice",
    "Pattern",
    "ProductScore",
    "Programs",
    "Projections",
    "Shape",
    "Slices",
    "Stopping",
    "Tile",
    "TileProducts",
    "TileProjections",
    "TileSums",
    "available_cpus",
    "find_lattice",
    "for_each_bin_sum",
    "for_each_joint_sum",
    "for_each_product",
    "for_each_tile",
    "prepare",
    "products_at",
    "replace_nan",
    "run",
    "unit_scale",
]
