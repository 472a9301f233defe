"""Tables, figures and pages as files; options that the long runs share."""

import argparse
import io
import json
from pathlib import Path

import jinja2
import matplotlib as mpl
import pandas as pd

from nuvmatch.engine import available_cpus
from nuvmatch.io import write_whole


def make_parser(name, description, trials, quick, unit):
    """Options of a long run."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(f"--{unit}", type=at_least(1), default=trials, dest="number")
    parser.add_argument(
        "--quick", action="store_const", const=quick, dest="number", help=f"{quick} {unit}"
    )
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--jobs", type=at_least(1), default=available_cpus(), help="processes")
    parser.add_argument("--out", type=Path, default=Path("build"), metavar="DIR")
    parser.add_argument("--cache", type=Path, default=Path(f".{name}_cache"), metavar="DIR")
    return parser


def at_least(least):
    def number(text):
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return int(text)

    return number


def write_tables(folder, tables, run):
    """Leave all tables, and what is told of the run, as JSON."""
    text = json.dumps({**run, **as_records(tables)}, indent=1, ensure_ascii=False)
    write_text(folder / "results.json", text + "\n")


def read_tables(folder):
    """Return the tables that were left, and what is told of the run."""
    results = json.loads((folder / "results.json").read_text("utf-8"))
    tables = {
        name: pd.DataFrame(rows)
        for name, rows in results.items()
        if isinstance(rows, list) and rows and isinstance(rows[0], dict)
    }
    return tables, {name: value for name, value in results.items() if name not in tables}


def as_records(tables):
    """Tables as plain lists of exact numbers; NaN becomes None."""
    return {
        name: [
            {column: None if pd.isna(value) else value for column, value in row.items()}
            for row in table.to_dict("records")
        ]
        for name, table in tables.items()
    }


def write_figures(folder, figures):
    """Leave each figure as SVG."""
    with mpl.rc_context({"svg.hashsalt": "nuvmatch"}):  # equal figures make equal files
        for name, figure in figures.items():
            file = io.BytesIO()
            figure.savefig(file, format="svg", metadata={"Date": None})
            write_whole(folder / f"{name}.svg", file.getvalue())


def render(template, **values):
    """Fill in a page's template."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return templates.get_template(template.name).render(**values)


def write_text(path, text):
    write_whole(path, text.encode())


def markdown(columns):
    """A table of texts, as they are."""
    return escaped(pd.DataFrame(columns)).to_markdown(index=False, disable_numparse=True)


def escaped(table):
    return table.map(escape).rename(columns=escape)


def escape(text):
    """Keep bars from ending a cell of a table."""
    return text.replace("|", "\\|") if isinstance(text, str) else text
