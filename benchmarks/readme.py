"""Write the numbers of README.md anew, from what the commands named beside them print.

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


def location_rates():
    """Of the run that docs/detection.md tells of."""
    results = json.loads((ROOT / "docs" / "detection" / "results.json").read_text("utf-8"))
    lines = ["| measure | changes of tones | real pairs |", "|---|---:|---:|"]
    for row in results["measures"]:
        real = "" if row["real"] is None else f"{row['real']:.3f}"
        lines.append(f"| {escape(row['measure'])} | {row['changes']:.3f} | {real} |")
    return "\n".join(lines)


def replace(readme, name, text):
    """Put text between the marks of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = readme.split(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def main(arguments=None):
    argparse.ArgumentParser(prog="python -m benchmarks.readme", description=__doc__).parse_args(
        arguments
    )
    path = ROOT / "README.md"
    readme = path.read_text()
    readme = replace(readme, "compare", sample_output("compare_measures"))
    readme = replace(readme, "detection", location_rates())
    readme = replace(readme, "hit rates", hit_rates())
    times, _ = binning.run()
    readme = replace(readme, "binning", binning.table(times))
    times = speed.run(["sizes", "locate"], rounds=9, fast_heap=True)
    readme = replace(readme, "speed", speed.table(times))
    readme = replace(readme, "locate", speed.table_of_locate(times))
    path.write_text(readme)


if __name__ == "__main__":
    main()
