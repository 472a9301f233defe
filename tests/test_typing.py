"""Types are right for users: what is right passes strict checkers, and what is wrong does not."""

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from nuvmatch.measures import NAMED
from nuvmatch.measures.named import MeasureName

ROOT = Path(__file__).parents[1]
USER_CODE = ROOT / "tests" / "typing" / "user_code.py"
WRONG = {
    number
    for number, line in enumerate(USER_CODE.read_text("utf-8").splitlines(), 1)
    if "# wrong" in line
}


def lines_refused(*command):
    """Run a checker on the user's code; return the lines that it has errors on."""
    found = subprocess.run(
        [sys.executable, "-m", *command, USER_CODE], cwd=ROOT, capture_output=True, text=True
    )
    said = [line for line in found.stdout.splitlines() if "user_code.py:" in line]
    errors = [line for line in said if "error" in line]
    return {int(line.split("user_code.py:")[1].split(":")[0]) for line in errors}, found.stdout


def test_names_of_measures_are_spelt_out_for_checkers():
    assert set(get_args(MeasureName)) == set(NAMED)


@pytest.mark.slow
@pytest.mark.compiled
def test_mypy_agrees():
    pytest.importorskip("mypy", reason="it comes with nuvmatch[lint]")
    config = ("--config-file=", "--strict", "--follow-imports=silent", "--no-incremental")
    refused, said = lines_refused("mypy", *config)
    assert refused == WRONG, said


@pytest.mark.slow
@pytest.mark.compiled
def test_pyright_agrees():
    pytest.importorskip("pyright", reason="it comes with nuvmatch[lint]")
    refused, said = lines_refused("pyright", "--pythonpath", sys.executable)
    assert refused == WRONG, said
