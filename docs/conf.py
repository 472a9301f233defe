"""How Sphinx builds these pages: ``sphinx-build -W -n -b html docs build/docs``."""

import sys
from pathlib import Path

import nuvmatch

sys.path.insert(0, str(Path(__file__).parent))

project = "nuvmatch"
version = release = nuvmatch.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "figures"]

html_theme = "pydata_sphinx_theme"
html_title = "nuvmatch"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}

# Pages of the long runs link to their tables, which are no part of the tree.
myst_heading_anchors = 3
suppress_warnings = ["toc.not_included"]

# Docstrings say types in words, and names of arguments in single backticks.
default_role = "autolink"
autodoc_typehints = "none"
numpydoc_show_class_members = False
templates_path = ["_templates"]
# Arguments that are also attributes of their class, or of a module.
nitpick_ignore = [("py:obj", name) for name in ("base", "high", "low", "offset", "samples")]
# Every sample is run, but the one that writes into the folder of samples.
sphinx_gallery_conf = {
    "examples_dirs": "../samples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/(?!make_scenes)\w+\.py$",
    "image_scrapers": ("gallery_pictures.pictures",),
    "reset_argv": "gallery_pictures.arguments",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
}

doctest_global_setup = "from nuvmatch import *"


def find_from_the_top(app, env, node, content):
    """Let docstrings of any room say `Matcher.locate`, and `Match.sigma`, a field of its class."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].removeprefix("nuvmatch.")
    owner, _, field = name.rpartition(".")
    if field in getattr(getattr(nuvmatch, owner, None), "__dataclass_fields__", ()):
        name = owner
    python = env.domains["py"]
    target = f"nuvmatch.{name}"
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, content)


def setup(app):
    app.connect("missing-reference", find_from_the_top)
