"""Import speed beside scikit-learn's reader, on the same file: prints a table.

    python tests/benchmarks/import_benchmark.py
    python tests/benchmarks/import_benchmark.py Fold1/train.txt

Writes a file like MSLR-WEB (136 features, lists of 120 documents), or takes one of yours, reads it
with ``sklearn.datasets.load_svmlight_file`` and with cltr, plain and compressed, and prints times,
ratios and the peak of memory. Each task has a process of its own and compiled kernels.
"""

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TASKS = {
    "scikit-learn, read": """
from sklearn.datasets import load_svmlight_file
def task(path, out):
    load_svmlight_file(path, dtype=np.float32, query_id=True)
""",
    "cltr, read": """
from cltr.data.svmlight import read_svmlight
def task(path, out):
    for rows in read_svmlight(path):
        pass
""",
    "cltr, import": """
from cltr.data.importing import import_dataset
def task(path, out):
    import_dataset([], out, train=[path])
""",
    "cltr, import, normalised": """
from cltr.data.importing import import_dataset
def task(path, out):
    import_dataset([], out, train=[path], normalize="log1p-z-score")
""",
    "cltr, open": """
from cltr.data.importing import open_dataset
def task(path, out):
    open_dataset(out)
""",
}
CLOCK = """
import sys, time
from pathlib import Path
import numpy as np
{code}
path, warm, out = map(Path, sys.argv[1:])
if "open" not in "{name}":
    task(warm, out)
before = time.perf_counter(), time.process_time()
task(path, out)
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
print(time.perf_counter() - before[0], time.process_time() - before[1], peak)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="an SVMlight file; else one is made")
    parser.add_argument("--megabytes", type=int, default=200, help="size of the file to be made")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file or write_like_mslr(Path(folder) / "train.txt", arguments.megabytes)
        warm = write_like_mslr(Path(folder) / "warm.txt", 1)
        measure_all(path, warm, Path(folder) / "out.h5")


def measure_all(path: Path, warm: Path, out: Path) -> None:
    """One line per task; ratios of processor time, which other work on the machine bends least."""
    size = path.stat().st_size / 1e6
    say(f"{path.name}: {size:.0f} MB")
    say(f"{'':28}{'seconds':>9}{'cpu':>9}{'MB/s':>8}{'ratio':>8}{'peak MB':>9}")
    packed = out.with_name("packed.gz")
    with open(path, "rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target)
    base = None
    for name, code in TASKS.items():
        wall, cpu, peak = measure(name, code, path, warm, out)
        base = cpu if base is None else base
        say(f"{name:28}{wall:9.2f}{cpu:9.2f}{size / cpu:8.0f}{base / cpu:7.1f}x{peak:9.0f}")
    name = "cltr, read"
    wall, cpu, peak = measure(name, TASKS[name], packed, warm, out)
    say(f"{name + ', gzip':28}{wall:9.2f}{cpu:9.2f}{size / cpu:8.0f}{base / cpu:7.1f}x{peak:9.0f}")


def measure(name: str, code: str, path: Path, warm: Path, out: Path) -> list[float]:
    """Seconds, processor seconds and peak memory in MB of a task in a new process."""
    program = CLOCK.format(code=code, name=name)
    words = [sys.executable, "-c", program, str(path), str(warm), str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return [float(word) for word in done.stdout.split()]


def write_like_mslr(path: Path, megabytes: int) -> Path:
    """Lines like those of MSLR-WEB: small counts, many zeros, some long decimals."""
    rng = np.random.default_rng(0)
    pool = []
    for _ in range(600):
        values = np.where(
            rng.random(136) < 0.4,
            0,
            np.where(rng.random(136) < 0.5, rng.integers(0, 400, 136), rng.gamma(2, 9, 136)),
        )
        pool.append(" ".join(f"{f}:{v:.8g}" for f, v in enumerate(values, start=1)))
    written = query = 0
    with open(path, "w", encoding="ascii") as stream:
        while written < megabytes * 1e6:
            query += 1
            for place in rng.integers(len(pool), size=120):
                written += stream.write(f"{place % 5} qid:{query} {pool[place]} \n")
    return path


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
