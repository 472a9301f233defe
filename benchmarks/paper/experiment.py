"""Score random cases by every method: a row for each case, number of bins, and method."""

from functools import partial

import numpy as np
import pandas as pd

from nuvmatch import MI, NUV, Matcher, binning, theory

from ..cases import general_case, spherical_case

SETTINGS = {
    "general": general_case,
    "spherical": spherical_case,
    "general, Cov as printed": partial(general_case, printed_order=True),
    "general, Cross as printed": partial(general_case, printed_cross=True),
}
RULES = ("2", "5", "sturges", "rice", "sqrt")
BINNINGS = (
    "equal width",
    "equal frequency, faulty",
    "equal frequency",
    "k-means",
    "greedy",
    "greedy, 10 starts",
    "optimal",
)
METHODS = (*BINNINGS, "nMI", "NCC²")


def score_cases(setting, seed, numbers):
    """Score the cases of these numbers: each is the same whatever else is run."""
    return pd.DataFrame(row for number in numbers for row in score_case(setting, seed, number))


def score_case(setting, seed, number):
    rng = np.random.default_rng([seed, list(SETTINGS).index(setting), number])
    case = SETTINGS[setting](rng)
    start = int(rng.integers(2**32))  # of the greedy binner
    ncc2 = score(case, case.template, "ncc2")
    # What a single bin explains is the mean's part, the same for all binnings.
    least = explained(case, np.zeros(case.template.size, int))
    for rule in RULES:
        bins = int(rule) if rule.isdigit() else binning.number_of_bins(case.template, rule)
        cuts = cut(case, bins, start)
        labels = {name: binned.labels for name, binned in cuts.items()}
        # Published were the labels of the *sorted* template, in sorted order: they have
        # nothing to do with the pixels that they are given to.
        labels["equal frequency, faulty"] = np.sort(labels["equal frequency"])
        gains = {
            name: explained(case, labels[name]) - least
            for name in ("greedy", "greedy, 10 starts", "optimal")
        }
        # The reference run left out, for all methods, cases with an empty bin of equal width.
        kept = cuts["equal width"].counts.size == bins
        row = {"setting": setting, "case": number, "rule": rule, "kept": kept}
        for name in BINNINGS:
            share = gains.get(name, np.nan) / gains["optimal"]
            yield {**row, "method": name, "reached": share, **score_labels(case, labels[name])}
        yield {**row, "method": "nMI", **score_by_nmi(case, bins)}
        yield {**row, "method": "NCC²", **ncc2}


def cut(case, bins, start):
    """Cut the template by each binning."""
    template, cross = case.template, case.told
    return {
        "equal width": binning.equal_width(template, bins),
        "equal frequency": binning.equal_frequency(template, bins),
        "k-means": binning.kmeans(template, bins),
        "greedy": binning.greedy(template, bins, cross=cross, seed=start),
        "greedy, 10 starts": binning.greedy(template, bins, cross=cross, seed=start, restarts=10),
        "optimal": binning.optimal(template, bins, cross=cross),
    }


def explained(case, labels):
    """What bins explain of what is told of the distortion."""
    return binning.objective(case.template, labels, case.told)


def score_labels(case, labels):
    """Scores of both windows by PWC nUV, and their means as the propositions have them."""
    d, bins = labels.size, int(labels.max()) + 1
    if case.sigma_m is None:
        expected = theory.expected_distorted(case.template, labels, case.cross, case.sigma)
    else:
        expected = theory.expected_spherical(case.template, labels, case.sigma_m, case.sigma)
    return {
        "expected noise": theory.expected_noise(d, bins),
        "expected distorted": expected,
        **score(case, labels, NUV(bins=np.arange(bins + 1) - 0.5)),  # each label is its own bin
    }


def score(case, template, measure):
    matcher = Matcher(template[None], measure, n_threads=1)
    distorted, noise = matcher.score_map(np.stack([case.distorted, case.noise]))[:, 0]
    return {"distorted": distorted, "noise": noise}


def score_by_nmi(case, bins):
    """Scores by nMI: template and window in bins of equal width, each over its own range."""
    edges = np.linspace(case.template.min(), case.template.max(), bins + 1)
    found = {}
    for name in ("distorted", "noise"):
        window = getattr(case, name)[None]
        ends = window.min(), window.max()
        # By edges, since bins that a measure places hold two pixels or more.
        measure = MI(bins=edges, value_range=ends, normalize="window")
        found[name] = Matcher(case.template[None], measure, n_threads=1).score_map(window).item()
    return found
