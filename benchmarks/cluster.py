"""Search an image that is never in memory by worker processes: time, memory, what tasks cost.

    python -m benchmarks.cluster [--side 40000] [--quick] [--jobs 2] [--out DIR]

Writes DIR/out_of_core.md and DIR/out_of_core.json. The image, uint16, is made piece by piece where
it is searched, out of one photograph. Times of workers are those of their processors, so that other
work beside them counts little; what is told of the clock is only as good as the machine is idle.
"""

import json
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster

from nuvmatch import Matcher, out_of_core
from nuvmatch.measures.bands import WINDOWS_HELD
from nuvmatch.out_of_core import blocks
from nuvmatch.timing import describe, environment

from .reporting import make_parser, markdown, render, write_text
from .speed import make_image

TEMPLATE = Path(__file__).with_name("out_of_core.md.jinja")
PIECE, WINDOW = 4000, 48
IN_MEMORY, ROUNDS = 6000, 5  # side of the image that the engine is measured with, and how often
SMALL, FEW_WINDOWS = 2048, 2**12  # an image in so small blocks that tasks are all that costs
CORES, PIXELS = (10, 100, 1000), (10**10, 10**11, 10**12)
STATUS = Path("/proc/self/status")


@cache
def photograph():
    return 200 * make_image((PIECE + 500, PIECE + 500)).astype(np.uint16)


def piece(block_info=None):
    """Another part of the photograph for each piece, brighter by a little."""
    ends = block_info[None]["array-location"]
    row, col = (first // PIECE for first, _ in ends)
    top, left = 37 * row % 500, 53 * col % 500
    height, width = (stop - first for first, stop in ends)
    return photograph()[top : top + height, left : left + width] + np.uint16(row + 7 * col)


def make_lazily(side):
    chunks = da.core.normalize_chunks(PIECE, (side, side))
    return da.map_blocks(piece, chunks=chunks, dtype=np.uint16, meta=np.empty((0, 0), np.uint16))


def resident(key):
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 2**20


def used():
    """Seconds of the processor, and GiB at the peak, of this process."""
    times = psutil.Process().cpu_times()
    return times.user + times.system, resident("VmHWM")


def cost_in_memory(matcher):
    """Seconds of one thread for a pixel; the median of rounds."""
    alone = Matcher(*matcher, n_threads=1)
    image = make_lazily(IN_MEMORY).compute(scheduler="synchronous")
    alone.locate(image[:1000, :1000], max_matches=2)
    taken = []
    for _ in range(ROUNDS):
        started = time.process_time()
        alone.locate(image, max_matches=2)
        taken.append(time.process_time() - started)
    return float(np.median(taken)) / image.size


@contextmanager
def workers(number):
    """Processes with the kernels loaded, of one thread each."""
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with LocalCluster(n_workers=number, **options) as cluster, Client(cluster) as client:
        client.run(warm_up)
        yield client


def warm_up():
    image = photograph()[:500, :500]
    Matcher(image[100 : 100 + WINDOW, 100 : 100 + WINDOW]).locate(image, max_matches=2)


def search(client, side, template):
    """Seconds by the clock, and of each worker's processor for all; the peak in GiB."""
    image, before = make_lazily(side), client.run(used)
    started = time.perf_counter()
    found = out_of_core.locate(image, Matcher(template), max_matches=2)
    taken = time.perf_counter() - started
    after = client.run(used)
    assert (found[0].row, found[0].col) == (PIECE // 2, PIECE // 2), found
    spent = sum(after[worker][0] - before[worker][0] for worker in after)
    return taken, spent, max(peak for _, peak in after.values())


def cost_of_tasks(client):
    """Seconds by the clock for a block that is next to no work."""
    image = da.from_array(photograph()[:SMALL, :SMALL] // 200, chunks=64).astype(np.uint8).persist()
    matcher = Matcher((photograph()[100:108, 100:108] // 200).astype(np.uint8))
    held, blocks.WINDOWS_HELD = blocks.WINDOWS_HELD, FEW_WINDOWS
    try:
        out_of_core.locate(image[:256, :256], matcher, max_matches=2)
        started = time.perf_counter()
        out_of_core.locate(image, matcher, max_matches=2)
        return (time.perf_counter() - started) / (SMALL / 64) ** 2
    finally:
        blocks.WINDOWS_HELD = held


def forecast(cost, task):
    """How long a search takes: all cores at work, or the scheduler's tasks one by one."""
    rows = {}
    for cores in CORES:
        texts = []
        for pixels in PIXELS:
            work, tasks = pixels * cost / cores, pixels / WINDOWS_HELD * task
            texts.append(duration(max(work, tasks)) + ("*" if tasks > work else ""))
        rows[f"{cores:,} cores"] = texts
    columns = {"pixels": [f"10^{len(str(pixels)) - 1}" for pixels in PIXELS], **rows}
    return markdown(columns)


def duration(seconds):
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def measure(side, number):
    row = PIECE // 2
    template = make_lazily(PIECE)[row : row + WINDOW, row : row + WINDOW].compute(scheduler="sync")
    told = {"side": side, "workers": number, "in memory": cost_in_memory((template,))}
    with workers(1) as client:
        part = max(side // 2 // PIECE, 1) * PIECE
        taken, _, _ = search(client, part, template)
        told["pixels a second, one worker"] = part**2 / taken
    with workers(number) as client:
        taken, spent, peak = search(client, side, template)
        told |= {"seconds": taken, "a pixel": spent / side**2, "peak GiB": peak}
        told["pixels a second"] = side**2 / taken
        told["tasks of a block"] = cost_of_tasks(client)
    return told


def as_text(told):
    ratio = told["a pixel"] / told["in memory"]
    gained = told["pixels a second"] / told["pixels a second, one worker"]
    return markdown(
        {
            "what": [
                "engine in memory, one thread", "workers, all that they do", "their ratio",
                f"{told['workers']} workers, by the clock", "over one worker",
                "peak memory of a worker", "tasks of a block",
            ],
            "measured": [
                f"{1e9 * told['in memory']:.1f} ns a pixel",
                f"{1e9 * told['a pixel']:.1f} ns a pixel",
                f"{ratio:.2f}", duration(told["seconds"]), f"{gained:.2f} times the pixels a s",
                f"{told['peak GiB']:.2f} GiB", f"{1e3 * told['tasks of a block']:.1f} ms",
            ],
        }
    )  # fmt: skip


def main(arguments=None):
    options = make_parser("cluster", __doc__, 40_000, 8000, "side").parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)  # before the work, not after
    where = environment()
    told = measure(options.number, options.jobs)
    page = render(
        TEMPLATE,
        side=options.number,
        jobs=options.jobs,
        window=WINDOW,
        measured=as_text(told),
        forecast=forecast(told["a pixel"], told["tasks of a block"]),
        nanoseconds=f"{1e9 * told['a pixel']:.0f}",
        milliseconds=f"{1e3 * told['tasks of a block']:.0f}",
        megabytes=f"{2e-6 / told['a pixel']:.0f}",
        megapixels=f"{WINDOWS_HELD / 1e6:.1f}",
        environment=describe(where),
    )
    write_text(options.out / "out_of_core.md", page)
    text = json.dumps({"environment": where, "results": told}, indent=2)
    write_text(options.out / "out_of_core.json", text + "\n")
    print(f"wrote {options.out / 'out_of_core.md'}")


if __name__ == "__main__":
    main()
