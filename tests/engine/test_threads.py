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


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


QUOTAS = {  # what the process is said to be in, the files of control groups, and CPUs paid for
    "version 2, of a container's own": ("0::/\n", {"cpu.max": "400000 100000\n"}, [4]),
    "version 2, no limit": ("0::/\n", {"cpu.max": "max 100000\n"}, []),
    "one and a half CPUs are two": ("0::/\n", {"cpu.max": "150000 100000\n"}, [2]),
    "a tenth of a CPU is one": ("0::/\n", {"cpu.max": "5000 50000\n"}, [1]),
    "each group around it binds": (
        "0::/system.slice/job.service\n",
        {
            "system.slice/job.service/cpu.max": "800000 100000\n",
            "system.slice/cpu.max": "300000 100000\n",
            "other.slice/cpu.max": "100000 100000\n",
        },
        [8, 3],
    ),
    "a path that only the host sees": (
        "0::/kubepods/pod7/1a2b\n",
        {"cpu.max": "200000 100000\n"},
        [2],
    ),
    "version 1": (
        "5:memory:/docker/1a2b\n3:cpu,cpuacct:/\n",
        {
            "cpu/cpu.cfs_quota_us": "250000\n",
            "cpu/cpu.cfs_period_us": "100000\n",
            "memory/cpu.max": "100000 100000\n",
        },
        [3],
    ),
    "version 1, with a path": (
        "4:cpuacct,cpu:/jobs/7\n",
        {
            "cpu/cpu.cfs_quota_us": "-1\n",
            "cpu/cpu.cfs_period_us": "100000\n",
            "cpu/jobs/7/cpu.cfs_quota_us": "50000\n",
            "cpu/jobs/7/cpu.cfs_period_us": "10000\n",
        },
        [5],
    ),
    "both versions": (
        "2:cpuset:/\n1:cpu:/\n0::/a\n",
        {
            "cpu/cpu.cfs_quota_us": "600000\n",
            "cpu/cpu.cfs_period_us": "100000\n",
            "a/cpu.max": "700000 100000",
        },
        [6, 7],
    ),
    "a quota without its period": ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "100000\n"}, []),
    "nonsense": ("0::/../a\n", {"cpu.max": "0 0\n", "../a/cpu.max": "two\n"}, []),
    "no such lines": ("these are\nno groups\n", {"cpu.max": "100000 100000\n"}, []),
    "no groups at all": ("", {}, []),
}


@pytest.mark.parametrize(("groups", "files", "cpus"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_is_read_wherever_it_stands(groups, files, cpus, tmp_path):
    write(tmp_path, {f"sys/fs/cgroup/{name}": text for name, text in files.items()})
    write(tmp_path, {"proc/self/cgroup": groups})
    assert sorted(threads._quotas(tmp_path)) == sorted(cpus)


def test_where_there_are_no_control_groups_there_is_no_quota(tmp_path):
    assert threads._quotas(tmp_path) == ()
    (tmp_path / "proc/self/cgroup").mkdir(parents=True)  # and no file to be read
    assert threads._quotas.__wrapped__(tmp_path) == ()


@pytest.mark.parametrize(
    ("affinity", "quotas", "variable", "cpus"),
    [
        (12, (), None, 12),
        (12, (8, 4), None, 4),
        (2, (4,), None, 2),
        (12, (), "3", 3),
        (12, (2,), "3", 2),
        (2, (), "64", 2),
        (12, (), "0", 12),
        (12, (), "-1", 12),
        (12, (), "many", 12),
        (12, (), "", 12),
    ],
)
def test_the_least_of_affinity_quota_and_variable_counts(
    affinity, quotas, variable, cpus, monkeypatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(affinity)), raising=False)
    monkeypatch.setattr(threads, "_quotas", lambda: quotas)
    if variable is None:
        monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("NUMBA_NUM_THREADS", variable)
    assert threads.available_cpus() == cpus


def test_without_affinity_all_cpus_count(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_quotas", tuple)
    for known, cpus in [(7, 7), (None, 1)]:
        monkeypatch.setattr(os, "cpu_count", lambda known=known: known)
        assert threads.available_cpus() == cpus


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
