"""Sample scripts take the picture that they draw as an argument: name one, and show it."""

import shutil
import tempfile
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

FOLDER = tempfile.TemporaryDirectory()


def picture_of(script):
    return Path(FOLDER.name, Path(script).stem).with_suffix(".png")


def arguments(gallery_conf, script_vars):
    """What a script is run with; it also is told where it lies, as Python does."""
    script = script_vars["src_file"]
    script_vars["example_globals"]["__file__"] = script
    takes_one = "sys.argv[1:]" in Path(script).read_text("utf-8")
    return [str(picture_of(script))] if takes_one else []


def pictures(block, block_vars, gallery_conf):
    """The picture that it has drawn."""
    drawn = picture_of(block_vars["src_file"])
    shown = []
    if drawn.exists():
        shown = [next(block_vars["image_path_iterator"])]
        shutil.move(drawn, shown[0])
    return figure_rst(shown, gallery_conf["src_dir"])
