"""Processes and threads of others, interrupts, and what remains after a thousand calls."""

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from processes import run_alone, start

import nuvmatch

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def scene(rng):
    image = rng.integers(0, 256, (60, 70), np.uint8)
    return image, image[10:22, 20:33]


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_other_processes_give_the_same_map_after_ours(method, rng):
    image, template = scene(rng)
    matcher = nuvmatch.Matcher(template)
    expected = matcher.score_map(image)
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        futures = [pool.submit(matcher.score_map, image) for _ in range(4)]
        for future in futures:
            assert_array_equal(future.result(timeout=120), expected)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib_gives_the_same_map(backend, rng):
    joblib = pytest.importorskip("joblib", reason="joblib comes with the benchmarks")
    image, template = scene(rng)
    expected = nuvmatch.score_map(image, template)
    call = joblib.delayed(nuvmatch.score_map)
    with joblib.parallel_config(backend, n_jobs=2):
        maps = joblib.Parallel()(call(image, template) for _ in range(4))
    for found in maps:
        assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("layer", ["workqueue", "omp", "tbb"])
def test_threading_layers_do_not_matter(layer):
    """None is used: one that is missing is not missed, and forked children go on."""
    script = """
import multiprocessing, numpy as np, nuvmatch
image = np.random.default_rng(0).integers(0, 256, (300, 300), np.uint8)
call = image, image[:20, :20]
expected = nuvmatch.score_map(*call, n_threads=4)
with multiprocessing.get_context("fork").Pool(2) as pool:
    for found in pool.starmap(nuvmatch.score_map, [call] * 4):
        assert np.array_equal(found, expected)
print("same")
"""
    said, _ = run_alone(script, NUMBA_THREADING_LAYER=layer)
    assert said == "same\n"


@pytest.mark.slow
def test_many_threads_begin_at_once_where_nothing_is_compiled(tmp_path):
    script = """
import threading, numpy as np, nuvmatch
rng = np.random.default_rng(0)
image = rng.integers(0, 256, (50, 60), np.uint8)
barrier, maps = threading.Barrier(8), []

def work():
    barrier.wait()
    for _ in range(50):
        maps.append(nuvmatch.score_map(image, image[5:15, 7:19], n_threads=2))

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(maps), all(np.array_equal(found, maps[0]) for found in maps), maps[0][5, 7] < 0.1)
"""
    said, _ = run_alone(script, NUMBA_CACHE_DIR=tmp_path)
    assert said == "400 True True\n"


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("measure", ["NUV()", "MI()", "WindowToPattern()"])
def test_an_interrupt_ends_a_long_call_and_spoils_nothing(n_threads, measure):
    """A map of 9000 x 9000 pixels takes many seconds; an interrupt ends it within one."""
    script = f"""
import signal, numpy as np, nuvmatch
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
image = np.random.default_rng(0).integers(0, 256, (9000, 9000), np.uint8)
small = image[:40, :50]
matcher = nuvmatch.Matcher(image[:30, :30], nuvmatch.{measure}, n_threads={n_threads})
expected = matcher.score_map(small)
print("begins", flush=True)
try:
    matcher.score_map(image)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(np.array_equal(matcher.score_map(small), expected), flush=True)
"""
    process = start(script)
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    assert process.stdout.readline() == "interrupted\n"
    taken = time.monotonic() - sent
    assert process.stdout.readline() == "True\n"
    process.communicate(timeout=60)
    assert taken < 1


@pytest.mark.slow
def test_a_thousand_calls_leave_no_memory_behind():
    script = """
import resource, sys, numpy as np, nuvmatch
from dataclasses import replace

measures = [replace(measure, bins=2) if hasattr(measure, "bins") else measure
            for measure in nuvmatch.measures.NAMED.values()]

def call(number):
    rng = np.random.default_rng(number)
    image = rng.integers(0, 256, (60, 70), np.uint8)
    row, col, height, width = rng.integers(1, 30, 4)
    template = image[row : row + height + 1, col : col + width + 1]
    nuvmatch.locate(image, template, measures[number % len(measures)], threshold=0.5)

def most():
    kibibytes = 1 if sys.platform == "linux" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / kibibytes

for number in range(200):
    call(number)
before = most()
for number in range(200, 1200):
    call(number)
print(most() - before)
"""
    said, _ = run_alone(script, "-W", "ignore")
    assert float(said) < 8 * 1024  # KiB


@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "ssd"])
def test_a_map_too_large_for_the_memory_names_its_size(measure):
    template = np.arange(12).reshape(3, 4)
    image = np.broadcast_to(np.uint8(7), (2**23, 2**23))
    with pytest.raises(MemoryError, match=r"Unable to allocate .* TiB for an array with shape"):
        nuvmatch.score_map(image, template, measure)


def test_a_pickled_error_keeps_its_message():
    """As processes hand it back."""
    with pytest.raises(ValueError, match="flat") as caught:
        nuvmatch.Matcher(np.zeros((4, 4)))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
