"""Write what a run found: tables, figures, and the page that tells of them."""

import io
import json

import matplotlib as mpl

from nuvmatch.io import write_whole

from ..environment import environment
from .figures import draw
from .page import render


def write(out, rows, tables, seed):
    """Leave the page in `out`, and tables and figures in its folder ``paper``."""
    folder = out / "paper"
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", table.to_csv(index=False, float_format="%.6g"))
        write_text(folder / f"{name}.md", table.to_markdown(index=False, floatfmt=".4g") + "\n")
    run = {
        "seed": seed,
        "cases": rows.groupby("setting")["case"].nunique().to_dict(),
        "environment": environment(),
    }
    records = {name: as_records(table) for name, table in tables.items()}
    text = json.dumps({**run, **records}, indent=1, ensure_ascii=False)
    write_text(folder / "results.json", text + "\n")
    with mpl.rc_context({"svg.hashsalt": "nuvmatch"}):  # equal figures make equal files
        for name, figure in draw(tables).items():
            for kind, metadata in {"png": {}, "svg": {"Date": None}}.items():
                file = io.BytesIO()
                figure.savefig(file, format=kind, dpi=120, metadata=metadata)
                write_whole(folder / f"{name}.{kind}", file.getvalue())
    page = out / "paper.md"
    write_text(page, render(tables, run))
    return page


def as_records(table):
    return json.loads(table.to_json(orient="records", double_precision=15))  # NaN becomes null


def write_text(path, text):
    write_whole(path, text.encode())
