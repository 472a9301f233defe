"""Write the numbers of README.md and of pages beside it anew: what the commands named there print.

python -m benchmarks.readme
"""

import argparse
import contextlib
import importlib.util
import io
import json
from pathlib import Path

from . import binning, speed
from .reporting import escape

ROOT = Path(__file__).resolve().parents[1]
IN_SHORT = ["NCC", "|NCC|", "MI", "nuv", "nuv_adaptive", "MI, 16 bins, symmetric", "auto"]


def sample_output(name):
    """What a script of the samples prints."""
    path = ROOT / "samples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        module.main()
    return f"```\n{printed.getvalue()}```"


def hit_rates():
    """Of the run that docs/paper.md tells of: general distortions, all rows."""
    results = json.loads((ROOT / "docs" / "paper" / "results.json").read_text("utf-8"))
    rates = {
        row["method"]: f"{row['auc']:.3f}"
        for row in results["auc"]
        if row["setting"] == "general" and row["rows"] == "all" and "faulty" not in row["method"]
    }
    lines = [rates, ["---:"] * len(rates), rates.values()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def location_rates(measures=None):
    """Of the run that docs/detection.md tells of; of some measures only."""
    results = json.loads((ROOT / "docs" / "detection" / "results.json").read_text("utf-8"))
    lines = ["| measure | changes of tones | real pairs |", "|---|---:|---:|"]
    for row in results["measures"]:
        if measures and row["measure"] not in measures:
            continue
        real = "" if row["real"] is None else f"{row['real']:.3f}"
        lines.append(f"| {escape(row['measure'])} | {row['changes']:.3f} | {real} |")
    return "\n".join(lines)


def replace(name, tables):
    """Put each table of a page between the marks of its name."""
    path = ROOT / name
    page = path.read_text("utf-8")
    for mark, table in tables.items():
        begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    path.write_text(page, "utf-8")


def main(arguments=None):
    argparse.ArgumentParser(prog="python -m benchmarks.readme", description=__doc__).parse_args(
        arguments
    )
    bin_times, _ = binning.run()
    times = speed.run(["sizes", "locate"], rounds=9, fast_heap=True)
    maps = speed.table(times)
    replace("README.md", {"detection": location_rates(IN_SHORT), "speed": maps})
    replace("docs/speed.md", {"speed": maps, "locate": speed.table_of_locate(times)})
    choosing = {
        "detection": location_rates(),
        "compare": sample_output("compare_measures"),
        "hit rates": hit_rates(),
        "binning": binning.table(bin_times),
    }
    replace("docs/choosing.md", choosing)


if __name__ == "__main__":
    main()
