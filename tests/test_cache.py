"""The cache of compiled kernels: whatever is wrong with it, the answer is right."""

import warnings
from pathlib import Path

import pytest
from processes import ANSWER, SCRIPT, run_alone, start

import nuvmatch
from nuvmatch import _jit

DAMAGES = {
    "emptied": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "of zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"nothing of the kind",
}


def call(script, folder, **environment):
    """What a process says, and how many warnings it gives."""
    said, errors = run_alone(script, "-W", "always", NUMBA_CACHE_DIR=folder, **environment)
    return said, errors.count("Warning: ")


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache as one process has left it."""
    folder = tmp_path_factory.mktemp("cache")
    assert call(SCRIPT, folder) == (ANSWER, 0)
    return folder


@pytest.mark.slow
@pytest.mark.compiled
def test_what_is_compiled_already_needs_nothing_to_compile_with(warm):
    ready = "print('numba.np.arraymath' in __import__('sys').modules)\n"
    assert call(SCRIPT + ready, warm) == (ANSWER + "False\n", 0)
    one_more = "import numba\nassert numba.njit(lambda x: x.sum())(np.ones(3)) == 3\n"
    assert call(SCRIPT + one_more + ready, warm) == (ANSWER + "True\n", 0)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_cache_is_written_anew_after_one_warning(suffix, damage, warm):
    files = list(warm.rglob(f"*{suffix}"))
    assert files
    for path in files:
        path.write_bytes(damage(path.read_bytes()))
    assert call(SCRIPT, warm) == (ANSWER, 1)
    assert call(SCRIPT, warm) == (ANSWER, 0)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_cache_of_another_version_is_not_used(warm):
    before = set(warm.rglob("*.nbc"))
    other = """
import sys, types
sys.modules["nuvmatch._version"] = types.SimpleNamespace(__version__="0.0.0")
"""
    assert call(other + SCRIPT, warm) == (ANSWER, 0)
    assert set(warm.rglob("*.nbc")) > before


@pytest.mark.slow
@pytest.mark.compiled
def test_two_processes_may_fill_the_cache_at_once(tmp_path):
    both = [start(SCRIPT, NUMBA_CACHE_DIR=tmp_path) for _ in range(2)]
    assert [process.communicate(timeout=300) for process in both] == [(ANSWER, "")] * 2
    assert call(SCRIPT, tmp_path) == (ANSWER, 0)


@pytest.mark.slow
def test_kernels_run_uncompiled(tmp_path):
    assert call(SCRIPT, tmp_path, NUMBA_DISABLE_JIT="1") == (ANSWER, 0)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.compiled
def test_a_file_where_the_cache_should_be_is_no_error(tmp_path):
    place = tmp_path / "__pycache__"
    place.touch()
    assert call(SCRIPT, place)[0] == ANSWER
    assert place.read_bytes() == b""


@pytest.mark.compiled
@pytest.mark.filterwarnings("error")
def test_without_a_place_for_the_cache_kernels_run_after_one_warning(monkeypatch):
    def no_place(function):
        raise RuntimeError("no locator available")

    monkeypatch.setattr(_jit, "_Cache", no_place)
    monkeypatch.setattr(_jit, "_warned", False)

    def double(x):
        return 2 * x

    with pytest.warns(RuntimeWarning, match=r"no locator available.*NUMBA_CACHE_DIR") as caught:
        kernels = [_jit.jit(double), _jit.jit(double)]
    assert len(caught) == 1
    assert [kernel(4) for kernel in kernels] == [8, 8]


@pytest.mark.compiled
def test_a_cache_that_cannot_be_written_costs_a_warning_only(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_jit.FunctionCache, "save_overload", full)
    monkeypatch.setattr(_jit, "_warned", False)

    def triple(x):
        return 3 * x

    kernel = _jit.jit(triple)
    with pytest.warns(RuntimeWarning, match="No space left") as caught:
        assert (kernel(4), kernel(0.5)) == (12, 1.5)
    assert len(caught) == 1


@pytest.mark.compiled
def test_what_was_compiled_for_other_types_is_not_called(monkeypatch):
    """Two processes that write at once can leave an index that names the wrong file."""

    def half(x):
        return x / 2

    kernel = _jit.jit(half)
    kernel(7)
    compiled = kernel.overloads[kernel.signatures[0]]
    monkeypatch.setattr(_jit.FunctionCache, "_load_overload", lambda *_: compiled)
    assert kernel(7.5) == 3.75


@pytest.mark.slow
@pytest.mark.compiled
def test_the_cache_can_be_cleared(tmp_path):
    script = SCRIPT + "nuvmatch.clear_cache()\n"
    assert call(SCRIPT, tmp_path) == (ANSWER, 0)
    assert list(tmp_path.rglob("*.nbc"))
    assert call(script, tmp_path) == (ANSWER, 0)
    assert not [path for path in tmp_path.rglob("*.nb?") if path.is_file()]
    assert call(SCRIPT, tmp_path) == (ANSWER, 0)


@pytest.mark.compiled
def test_clearing_an_empty_cache_is_no_error(monkeypatch):
    monkeypatch.setattr(_jit, "_folders", {Path("nowhere")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nuvmatch.clear_cache()


@pytest.mark.slow
@pytest.mark.compiled
def test_warmup_compiles_what_calls_need():
    """In a process of its own, where nothing has been compiled or loaded before."""
    script = """
import sys
import numpy as np, nuvmatch

def compiled():
    kind = type(nuvmatch.finding.suppression.decide)
    kernels = [k for name, m in list(sys.modules.items()) if name.startswith("nuvmatch")
               for k in vars(m).values() if isinstance(k, kind)]
    return sum(len(kernel.signatures) for kernel in kernels)

nuvmatch.warmup()
before = compiled()
both = nuvmatch.Lowest("nuv", nuvmatch.WindowToPattern())
rng = np.random.default_rng(1)
for form in ("u1", "u2", "i4", "i8", "f4", "f8"):
    for channels in ((), (3,)):
        image = (rng.random((70, 90, *channels)) * 250).astype(form)
        for measure in nuvmatch.measures.NAMED:
            for mask in (None, rng.random((11, 14)) < 0.8):
                template = image[9:20, 20:34]
                nuvmatch.locate(image, template, measure, mask=mask, threshold=0.5)
        nuvmatch.score_map(image, image[:20, :9], both, dtype=float)
print(before > 50, compiled() - before)
"""
    assert run_alone(script, timeout=600) == ("True 0\n", "")
