"""A scheduler and two workers, processes of their own: the same places, whatever befalls them."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
import tifffile
from numpy.testing import assert_array_equal
from processes import start

from nuvmatch import Matcher, Search, out_of_core
from nuvmatch.out_of_core import BlockError, blocks

distributed = pytest.importorskip("distributed")

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(blocks, "WINDOWS_HELD", 2500)
    monkeypatch.setattr(blocks, "_WINDOWS", 1)


@pytest.fixture(scope="module")
def client():
    """Two workers of one thread; a task that costs two of them their lives is given up."""
    patient = {"distributed.scheduler.allowed-failures": 1}
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with (
        dask.config.set(patient),
        distributed.LocalCluster(n_workers=2, processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def matcher(scene):
    return Matcher(scene[40:49, 60:71].copy())


def lazily(image):
    return da.from_array(image, chunks=45)


@pytest.mark.parametrize("measure", ["nuv", "auto"])
def test_places_and_maps_are_those_in_memory(measure, client, scene):
    matcher = Matcher(scene[40:49, 60:71].copy(), measure)
    for options in (
        {"max_matches": 3, "subpixel": "precise"},
        {"false_alarms": np.inf, "max_matches": 2},
        {"region": (20, 30, 60, 70), "image_mask": scene > 3},
    ):
        found = out_of_core.locate(lazily(scene), matcher, **options)
        assert found == matcher.locate(scene, **options)
    assert_array_equal(out_of_core.score_map(lazily(scene), matcher), matcher.score_map(scene))


def test_several_templates_compete_as_in_memory(client, scene):
    search = Search([scene[40:49, 60:71].copy(), scene[5:20, 9:21].copy()], "ncc")
    found = out_of_core.locate(lazily(scene.astype(np.float32)), search, max_per_name=2)
    assert found == search.locate(scene.astype(np.float32), max_per_name=2)


def test_workers_open_files_themselves(client, matcher, scene, tmp_path):
    np.save(tmp_path / "a.npy", scene)
    tifffile.imwrite(tmp_path / "a.tif", scene, tile=(32, 32), compression="deflate")
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    whole = matcher.locate(scene[4:], max_matches=3)
    assert out_of_core.locate(mapped[4:], matcher, max_matches=3) == whole
    for name in ("a.npy", "a.tif"):
        found = out_of_core.locate(tmp_path / name, matcher, max_matches=3)
        assert found == matcher.locate(scene, max_matches=3)


def count_templates():
    """Have a worker count how often a template is made ready from now on."""
    from nuvmatch.measures import template

    if not hasattr(template, "made_ready"):
        whole = template.Template.of.__func__

        def of(cls, *given):
            template.made_ready += 1
            return whole(cls, *given)

        template.Template.of = classmethod(of)
    template.made_ready = 0


def templates_counted():
    from nuvmatch.measures import template

    return template.made_ready


def test_a_template_is_made_ready_once_by_each_worker(client, matcher, scene):
    client.run(count_templates)
    out_of_core.locate(lazily(scene), matcher, max_matches=3)
    made = client.run(templates_counted).values()
    assert sum(made) >= 1
    assert max(made) <= 1


def count_threads(block):
    import threading

    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if "nuvmatch" in name], names
    return block


def test_a_task_is_one_thread(client, scene):
    matcher = Matcher(scene[40:49, 60:71].copy(), n_threads=8)
    found = out_of_core.locate(
        lazily(scene).map_blocks(count_threads, dtype=scene.dtype, meta=scene[:0, :0]),
        matcher,
        max_matches=3,
    )
    assert found == matcher.locate(scene, max_matches=3)


# Workers die, blocks fail.


def last(block_info):
    return block_info[0]["chunk-location"] == (1, 2)


def kill(block, marker=None, block_info=None):
    """End the worker that has the last block: once, if there is a marker."""
    if last(block_info) and not (marker and Path(marker).exists()):
        if marker:
            Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def fail(block, block_info=None):
    if last(block_info):
        raise OSError("the disk is gone")
    return block


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_a_worker_that_is_killed_is_done_without(kind, client, scene, tmp_path):
    image = scene.astype(kind)
    matcher = Matcher(image[40:49, 60:71].copy())
    marker = tmp_path / "killed"
    lazy = lazily(image).map_blocks(kill, marker=str(marker), dtype=kind)
    found = out_of_core.locate(lazy, matcher, max_matches=3)
    assert marker.exists()
    assert found == matcher.locate(image, max_matches=3)


def test_a_block_that_kills_its_workers_is_named(client, matcher, scene):
    lazy = lazily(scene).map_blocks(kill, dtype=np.uint8)
    with pytest.raises(BlockError, match=r"rows \d+ to \d+, columns \d+ to \d+ has cost several"):
        out_of_core.locate(lazy, matcher)
    assert out_of_core.locate(lazily(scene), matcher) == matcher.locate(scene)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_a_block_that_raises_is_named(kind, client, scene):
    image = scene.astype(kind)
    lazy = lazily(image).map_blocks(fail, dtype=kind)
    with pytest.raises(BlockError, match=r"rows \d+ to \d+, columns.*the disk is gone") as raised:
        out_of_core.locate(lazy, Matcher(image[40:49, 60:71].copy()))
    assert str(raised.value).count("rows") == 1


def hoard(block, block_info=None):
    if last(block_info):
        kept = [bytearray(os.urandom(2**20) * 64) for _ in range(40)]
        time.sleep(20)
        return block if kept else None
    return block


def test_a_worker_beyond_its_memory_is_an_error_that_names_the_block(matcher, scene):
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, memory_limit="700MiB", **options) as cluster,
        distributed.Client(cluster),
        pytest.raises(BlockError, match=r"rows \d+ to \d+.*too little memory"),
    ):
        out_of_core.locate(lazily(scene).map_blocks(hoard, dtype=np.uint8), matcher)


# Scripts.

SCRIPT = """
import time, sys
import dask.array as da, numpy as np
from distributed import Client, LocalCluster
from nuvmatch import Matcher, out_of_core

class Own:
    def prepare(self, template):
        return Scorer(template.greys)

class Scorer:
    bins = ()
    def __init__(self, greys):
        self.greys = greys
    def fill(self, image, out, n_threads):
        windows = np.lib.stride_tricks.sliding_window_view(image.planes[0], self.greys.shape[1:])
        out[:] = abs(windows - self.greys[0]).mean((2, 3)) / 255

def slowly(block):
    time.sleep(0.5)
    return block

def main(address, seconds):
    image = da.random.default_rng(0).integers(0, 256, (300, 400), chunks=20, dtype=np.uint8)
    template = image[60:70, 80:90].compute(scheduler="synchronous")
    if address:
        client = Client(address)
        print(out_of_core.locate(image, Matcher(template, Own())), flush=True)
    if seconds:
        print("searching", flush=True)
        out_of_core.locate(image.map_blocks(slowly), Matcher(template))

if __name__ == "__main__":
    main(*eval(sys.argv[1]))
"""


def script_of(tmp_path, *arguments):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    run = f"runpy.run_path({str(path)!r}, run_name='__main__')"
    return f"import sys, runpy; sys.argv = ['', {str(arguments)!r}]; {run}"


@pytest.mark.parametrize("where", ["threads", "cluster"])
def test_ctrl_c_ends_a_search_within_two_seconds(where, client, tmp_path):
    address = client.scheduler.address if where == "cluster" else None
    process = start(script_of(tmp_path, address, 60), PYTHONPATH=ROOT)
    try:
        while "searching" not in (line := process.stdout.readline()):
            assert line or process.poll() is None, process.stderr.read()
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        _, complaints = process.communicate(timeout=30)
        assert time.monotonic() - asked < 2
    finally:
        process.kill()
    assert complaints.rstrip().endswith("KeyboardInterrupt")
    assert complaints.count("Traceback") == 1


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def test_by_hand_with_a_measure_that_the_script_defines(tmp_path):
    """`dask scheduler`, and `dask worker` twice."""
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rpartition(":")[2]
    run = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    quiet["env"] = os.environ | {"PYTHONPATH": str(ROOT)}
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    started = [subprocess.Popen([*run, "scheduler", "--port", port, *here], **quiet)]
    worker = [*run, "worker", address, "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard"]
    started += [subprocess.Popen(worker, **quiet) for _ in range(2)]
    try:
        process = start(script_of(tmp_path, address, 0), PYTHONPATH=ROOT)
        said, complaints = process.communicate(timeout=120)
        assert said == "<1 match: (60, 80): 0>\n", complaints
    finally:
        for one in reversed(started):
            one.terminate()
        for one in started:
            one.wait(30)
