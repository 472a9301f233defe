"""Look for templates in real scenes whose right places are known, by several measures.

    python -m benchmarks.pairs FOLDER [--measures NAME ..] [--limit N] [--json FILE]

FOLDER holds pictures and cases.json, a list of {source, name, scene, template, kind, places,
tolerance}: pictures by their paths in FOLDER, places as (x, y), and one of these kinds:

    "at"      the places are top-left corners, met to within `tolerance` pixels (0 if not given)
    "inside"  the box that is found must hold the place
    "any"     the template is there, nobody says where
    "absent"  it is not there

The table tells for each source in how many pairs with a place the best one is right; how many
of all places are among as many best ones; and how well the best score tells pairs that are there
from absent ones: the area under the ROC curve. A pair that is refused counts as not found.
"AUC by false alarms" is of their number at the best place, over pairs of which it can be told and
whose maps have 100 minima or more; so many are "telling".
"""

import argparse
import json
import math
import warnings
from pathlib import Path

import pandas as pd
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

import nuvmatch
from nuvmatch.io import read_image, to_grey
from nuvmatch.timing import describe, environment

from .reporting import as_records, at_least

MEASURES = [
    "ncc",
    "ssd",
    "mi",
    "nuv",
    "NUV(gain=(0.7, 1.4))",
    "nuv_adaptive",
    "AdaptiveNUV(gain=(0.7, 1.4))",
    "Lowest(NUV(), WindowToPattern())",
    "Highest(NUV(), WindowToPattern())",
    "Auto()",
]

NOT_FOUND = 2.0  # the worst score that a measure has
LEAST_MINIMA = 100  # of a map, for false alarms to be told


def measure_of(text):
    """Take a name, or a measure as it is written in Python."""
    return text if text.isidentifier() else eval(text, vars(nuvmatch).copy())


def read_pair(folder, case):
    """Scene and template; luminance of both where only one has colours."""
    pair = [read_image(folder / case[part]) for part in ("scene", "template")]
    in_colour = [image.ndim == 3 and image.shape[2] >= 3 for image in pair]
    return [to_grey(image) for image in pair] if sum(in_colour) == 1 else pair


def hits(match, place, case):
    """Whether a match is what a pair's test calls right."""
    if case["kind"] == "inside":
        return 0 <= place[0] - match.x < match.width and 0 <= place[1] - match.y < match.height
    apart = max(abs(place[0] - match.x), abs(place[1] - match.y))
    return apart <= case.get("tolerance", 0)


def count_minima(scene, template):
    """How many places chance has in a map; by which measure matters little."""
    try:
        matcher = nuvmatch.Matcher(template, "ncc2")
        scores = matcher.score_map(scene, fill_value=math.nan)
    except ValueError:
        return 0
    return len(nuvmatch.find_peaks(scores, matcher.shape, threshold=math.inf))


def look_for(case, scene, template, measure, minima):
    """Take as many best matches as there are places, and judge them."""
    places = case.get("places", [])
    row = {key: case[key] for key in ("source", "name", "kind")}
    row |= {"measure": measure, "score": NOT_FOUND, "box": None, "refused": ""}
    row |= {"minima": minima, "false alarms": math.nan}
    matches = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # infinite false alarms say it too
            matches = nuvmatch.locate(
                scene,
                template,
                measure_of(measure),
                max_matches=max(len(places), 1),
                false_alarms=math.inf,
            )
    except ValueError as error:
        row["refused"] = str(error)
    if matches:
        row |= {"score": matches[0].score, "box": matches[0].box}
        if minima >= LEAST_MINIMA and math.isfinite(matches[0].false_alarms):
            row["false alarms"] = matches[0].false_alarms
    return row | {
        "places": len(places),
        "best right": any(hits(match, place, case) for match in matches[:1] for place in places),
        "places right": sum(any(hits(match, place, case) for match in matches) for place in places),
    }


def area(group, column):
    """How well a column tells pairs that are there from absent ones, where it is known."""
    known = group.dropna(subset=column)
    absent = known["kind"] == "absent"
    return roc_auc_score(absent, known[column]) if absent.nunique() == 2 else None


def tabulate(rows):
    """One row for each source and measure, in the order they came in; then for all sources."""
    table = []
    for source, of_source in [*rows.groupby("source", sort=False), ("all", rows)]:
        for measure, group in of_source.groupby("measure", sort=False):
            placed, absent = group[group["places"] > 0], group["kind"] == "absent"
            judged = absent.nunique() == 2
            if placed.empty and not judged:
                continue  # nobody says what is right
            table.append(
                {
                    "source": source,
                    "measure": measure,
                    "pairs with a place": len(placed),
                    "best right": placed["best right"].sum(),
                    "places": placed["places"].sum(),
                    "places right": placed["places right"].sum(),
                    "there": (~absent).sum(),
                    "absent": absent.sum(),
                    "AUC": area(group, "score"),
                    "AUC by false alarms": area(group, "false alarms"),
                    "telling": group["false alarms"].notna().sum(),
                    "refused": (group["refused"] != "").sum(),
                }
            )
    return pd.DataFrame(table).astype({"AUC": float, "AUC by false alarms": float})


def print_lost(rows):
    """Say which pairs were refused, and where the best place is a wrong one."""
    for measure, group in rows.groupby("measure", sort=False):
        print(f"\nlost by {measure}:")
        for row in group.to_dict("records"):
            name = f"  {row['source']}, {row['name']}"
            if row["refused"]:
                print(f"{name}: refused: {row['refused']}")
            elif row["places"] and not row["best right"]:
                found = f"{row['score']:.4f} at {row['box']}" if row["box"] else "nothing found"
                print(f"{name}: {found}")


def run(folder, measures, limit=None):
    """Look for every template by every measure: a row for each."""
    cases = json.loads((folder / "cases.json").read_text("utf-8"))[:limit]
    rows = []
    for case in tqdm(cases, disable=None):
        pair = read_pair(folder, case)
        minima = count_minima(*pair)
        rows += [look_for(case, *pair, measure, minima) for measure in measures]
    return pd.DataFrame(rows)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pairs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--measures", nargs="+", default=MEASURES, metavar="NAME")
    parser.add_argument("--limit", type=at_least(1), metavar="N", help="only the first N pairs")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    where = environment()
    print(describe(where))
    rows = run(options.folder, options.measures, options.limit)
    table = tabulate(rows)
    print(table.to_string(index=False, float_format="{:.3f}".format, na_rep=""))
    print_lost(rows)
    if options.json:
        report = {"environment": where, **as_records({"table": table, "pairs": rows})}
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
