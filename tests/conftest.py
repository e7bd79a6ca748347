"""Settings that all tests share: threads, compile caches, how hypothesis searches."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from cltr.experiment.library_setup import set_up_libraries

set_up_libraries()

ROOT = Path(__file__).parent.parent
WORKER = os.environ.get("PYTEST_XDIST_WORKER")

if WORKER:
    # Workers already share out the cores, so each computes with one thread. Each also keeps its
    # compiled kernels apart: two processes that fill one numba index at once can cross entries.
    # And apart by their source: numba does not notice when a kernel that another calls has changed.
    sources = [path.read_bytes() for path in sorted(ROOT.glob("[cp]l*/**/*.py"))]
    version = hashlib.sha256(b"".join(text for text in sources if b"numba" in text)).hexdigest()
    os.environ["NUMBA_NUM_THREADS"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".pytest_cache" / f"numba-{version[:12]}" / WORKER)

# Kernels compile inside the first example, so there is no deadline; the same examples every time,
# so that a red test stays red. `make science` searches afresh.
settings.register_profile("repeat", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("repeat")


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Run a piece of Python in a process of its own; its output, or its error as a failure."""

    def run(code: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environment},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def fresh_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plugins are looked for anew in this test, and again after it."""
    from cltr.plugins import registry

    monkeypatch.delenv("CLTR_PLUGINS", raising=False)
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A few queries in place of the demo data, in an empty folder that is the current one."""
    from tests import small

    data = small.dataset()
    monkeypatch.setattr("cltr.data.demo.demo_dataset", lambda: data)
    monkeypatch.chdir(tmp_path)
    return tmp_path
