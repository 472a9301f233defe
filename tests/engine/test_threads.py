"""The same bits whatever the threads; a pool that never hangs."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import nuvmatch
from nuvmatch.engine import threads

IMAGE = np.random.default_rng(1).integers(0, 256, (97, 1301)).astype(np.uint8)
TEMPLATE = IMAGE[13:24, 29:46]


@pytest.mark.compiled
@pytest.mark.parametrize("measure", ["nuv", "ncc", "mi", "ssd"])
def test_maps_do_not_depend_on_threads(measure):
    first = nuvmatch.score_map(IMAGE, TEMPLATE, measure, n_threads=1)
    for n_threads in [1, 2, 3, 7, None] * 3:
        again = nuvmatch.score_map(IMAGE, TEMPLATE, measure, n_threads=n_threads)
        assert_array_equal(again, first)


@pytest.mark.compiled
def test_many_python_threads_share_one_matcher():
    matcher = nuvmatch.Matcher(TEMPLATE)
    first = matcher.score_map(IMAGE)
    with ThreadPoolExecutor(8) as pool:
        for scores in pool.map(matcher.score_map, [IMAGE] * 24):
            assert_array_equal(scores, first)


@pytest.mark.compiled
def test_numbas_own_threads_are_left_alone():
    before = numba.get_num_threads()
    nuvmatch.score_map(IMAGE, TEMPLATE, n_threads=2)
    assert numba.get_num_threads() == before


@pytest.mark.slow
@pytest.mark.parametrize(("n_threads", "threads_left"), [(1, 1), (2, 2)])
def test_one_thread_starts_no_pool(n_threads, threads_left):
    code = (
        "import threading, numpy as np, nuvmatch;"
        "image = np.random.default_rng(0).integers(0, 9, (40, 1300));"
        "nuvmatch.score_map(image, image[:5, :5], 'ncc', n_threads=%d);"
        "print(threading.active_count())"
    )
    command = [sys.executable, "-c", code % n_threads]
    answer = subprocess.run(command, capture_output=True, check=True)
    assert int(answer.stdout) == threads_left


@pytest.mark.slow
def test_a_thread_that_outlives_the_main_one_still_gets_its_map():
    code = (
        "import threading, time, numpy as np, nuvmatch\n"
        "image = np.random.default_rng(0).integers(0, 9, (40, 1300))\n"
        "def late():\n"
        "    time.sleep(0.3)\n"
        "    found = nuvmatch.locate(image, image[5:10, 900:905], 'ncc', n_threads=2)\n"
        "    print(found[0].box)\n"
        "threading.Thread(target=late).start()\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert (answer.stdout, answer.stderr) == ("(900, 5, 5, 5)\n", "")


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (64, 1), (100, 333)])
def test_tiles_cover_the_map_once(shape):
    seen = np.zeros(shape, int)
    for tile in threads.tiles(shape, 8, 50):
        seen[tile.place] += 1
        assert tile.shape <= (8, 50)
        rows, columns = tile.under((3, 4))
        assert (rows.stop - rows.start, columns.stop - columns.start) == (
            tile.shape[0] + 2, tile.shape[1] + 3
        )  # fmt: skip
    assert (seen == 1).all()


def test_tiles_begin_at_multiples_of_lanes():
    for tile in threads.tiles((5, 1000), 8, 300, 128):
        assert tile.left % 128 == 0


def test_scratch_memory_is_used_again_and_grows():
    scratch = threads.scratch
    first = scratch.array("of a test", (4, 5), np.float64)
    assert first.shape == (4, 5)
    assert first.ctypes.data == scratch.array("of a test", (10,), np.uint8).ctypes.data
    assert scratch.array("of a test", (9, 9), np.float64).size == 81


def test_large_scratch_memory_is_let_go_of_after_a_call():
    scratch = threads.Scratch()
    small = scratch.array("small", (9,), np.float64).ctypes.data
    scratch.array("large", (2**20 + 1,), np.float64)
    scratch.trim()
    assert list(scratch._held) == ["small"]
    assert scratch.array("small", (9,), np.float64).ctypes.data == small


def todo(count):
    return threads.tiles((count, 1), 1, 1)


def test_every_tile_is_done_once_by_at_most_so_many_threads():
    done, workers, lock = [], set(), threading.Lock()

    def task(tile):
        with lock:
            done.append(tile)
            workers.add(threading.get_ident())

    threads.run(task, todo(200), 3)
    assert sorted(done) == todo(200)
    assert len(workers) <= 3


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_ends_the_work_and_reaches_the_caller(n_threads, error):
    done = []

    def task(tile):
        if tile.top == 5:
            raise error("here")
        time.sleep(0.0005)
        done.append(tile)

    with pytest.raises(error, match="here"):
        threads.run(task, todo(2000), n_threads)
    assert len(done) < 1000
    threads.run(done.append, todo(3), n_threads)  # and the pool still works


def in_child(queue):
    queue.put(nuvmatch.score_map(IMAGE, TEMPLATE, n_threads=2))


@pytest.mark.compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_matches_after_its_parent_did():
    expected = nuvmatch.score_map(IMAGE, TEMPLATE, n_threads=2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    assert_array_equal(queue.get(timeout=60), expected)
    child.join(60)
    assert child.exitcode == 0
