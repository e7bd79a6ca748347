"""Run a piece of work in a process of its own: seconds, processor seconds, peak of memory.

python tests/benchmarks/processes.py tests.benchmarks.stages:train '{"interactions": 1000}'
"""

import importlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Spent(NamedTuple):
    """What a process used."""

    seconds: float
    cpu: float
    peak: float
    """MB"""


def measure(function: str, **options: object) -> Spent:
    """Call ``module:function`` in a new process; what is printed there is left out."""
    words = [sys.executable, __file__, function, json.dumps(options)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{function}: {done.stderr.strip().splitlines()[-1]}")
    return Spent(*map(float, done.stdout.splitlines()[-1].split()))


def whole_process(*words: str | Path) -> float:
    """Processor seconds of a command from its start to the end of its process.

    Bytecode is kept, as it is for an installed package, whatever the environment says.
    """
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=ROOT, env=kept, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Call, and print what it took."""
    sys.path.insert(0, str(ROOT))
    module, name = sys.argv[1].split(":")
    function = getattr(importlib.import_module(module), name)
    began = time.perf_counter(), time.process_time()
    function(**json.loads(sys.argv[2]))
    spent = time.perf_counter() - began[0], time.process_time() - began[1]
    sys.stdout.write(f"{spent[0]} {spent[1]} {peak_memory()}\n")


def peak_memory() -> float:
    """Of this process, in MB; ``getrusage`` would count what its parent had when it began."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
