"""Tasks on many items: each comes back once, whatever it does to the process that works on it."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from nuvmatch.engine import available_cpus
from nuvmatch.out_of_core import spreading
from nuvmatch.out_of_core.spreading import spread

pytestmark = pytest.mark.compiled  # whole searches; other tests run their kernels as plain Python


class Items(list):
    """Counts how many were asked for."""

    taken = 0

    def __iter__(self):
        for item in super().__iter__():
            self.taken += 1
            yield item


def squares(bad=(), deadly=()):
    def task(item):  # of a function, so that workers need no module of the tests
        if item in bad:
            raise ValueError(f"bad {item}")
        if item in deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return item**2, os.getpid()

    return task


def test_one_process_takes_one_item_after_the_other():
    items = Items(range(6))
    for i, (item, outcome) in enumerate(spread(squares(bad=[4]), items, n_workers=1), 1):
        assert items.taken == i
        if item == 4:
            assert isinstance(outcome, ValueError)
        else:
            assert outcome == (item**2, os.getpid())
    assert i == 6
    assert list(spread(squares(), [])) == []
    assert list(spread(squares(), [3], n_workers=2)) == [(3, (9, os.getpid()))]


@pytest.mark.slow
def test_a_few_items_are_on_their_way_and_one_that_kills_takes_no_other_with_it():
    items = Items(range(60))
    found = {}
    for item, outcome in spread(squares(bad=[7], deadly=[20, 21]), items, n_workers=2):
        assert item not in found
        assert items.taken - len(found) <= 20  # for two threads, and those that died
        found[item] = outcome
    assert set(found) == set(range(60))
    assert str(found.pop(7)) == "bad 7"
    for _ in range(2):
        assert isinstance(found.pop(20 if 20 in found else 21), ChildProcessError)
    assert {item: value for item, (value, _) in found.items()} == {i: i**2 for i in found}
    assert os.getpid() not in {process for _, process in found.values()}


@pytest.mark.slow
def test_a_task_travels_once_to_each_process_which_has_one_thread(tmp_path):
    class Task:
        def __init__(self, folder):
            self.folder = folder

        def __setstate__(self, state):
            self.folder = state["folder"]
            (self.folder / f"{os.getpid()}-{id(self)}").touch()

        def __call__(self, item):
            return os.getpid(), available_cpus()

    found = dict(spread(Task(tmp_path), range(100), n_workers=2))
    travelled = [path.name.split("-")[0] for path in tmp_path.iterdir()]
    assert len(travelled) == len(set(travelled)) == 2
    assert {(str(process), cpus) for process, cpus in found.values()} <= {
        (process, 1) for process in travelled
    }


@pytest.mark.slow
def test_processes_end_with_the_iterator():
    outcomes = spread(squares(), range(1000), n_workers=2)
    _, (_, worker) = next(outcomes)
    assert psutil.pid_exists(worker)
    outcomes.close()
    assert not psutil.pid_exists(worker)


@pytest.mark.slow
def test_what_a_scheduler_lacks_is_an_error(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(spreading, "_SECONDS_TO_CONNECT", 1)
    monkeypatch.setattr(spreading, "_SECONDS_FOR_WORKERS", 1)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1 "):
        next(spread(squares(), [1], scheduler="tcp://127.0.0.1:1"))
    local = {"dashboard_address": "127.0.0.1:0", "processes": False, "protocol": "tcp://"}
    with distributed.LocalCluster(n_workers=0, threads_per_worker=1, **local) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(TimeoutError, match="0/1 workers"):
            next(spread(squares(), [1], scheduler=address))
        cluster.scale(1)
        cluster.wait_for_workers(1)
        assert [item for item, _ in spread(squares(), [1, 2], scheduler=address)] == [1, 2]
        assert set(cluster.workers[0].plugins) == {"shuffle"}
        monkeypatch.setattr(spreading, "__version__", "0.0.7")
        with pytest.raises(ImportError, match=r"a worker has nuvmatch .*; here it is 0\.0\.7"):
            next(spread(squares(), [1], scheduler=address))


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'nuvmatch\[dask\]'"):
        next(spread(squares(), [1, 2], n_workers=2))
    assert next(spread(squares(), [1]))[0] == 1  # which needs none


def test_dask_stays_in_its_room():
    package = Path(spreading.__file__).parent.parent
    users = [path for path in package.rglob("*.py") if "import distributed" in path.read_text()]
    assert {path.parent.name for path in users} == {"out_of_core"}
