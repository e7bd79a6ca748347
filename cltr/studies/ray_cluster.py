"""Work spread over a Ray cluster: groups of cells, or calls of one function.

A worker that is lost costs what it was computing, and nothing else: Ray computes that again.
Workers need the same packages, and files under the same names, as the process that starts them. A
worker whose data, versions or arithmetic would give other numbers refuses to compute.
"""

import fcntl
import json
import os
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from cltr.errors import CltrError, DataError, UsageError
from cltr.studies.portable_arithmetic import CHOICES, common_arithmetic
from cltr.studies.ray_client import connect_client, in_touch, require_address
from cltr.studies.study import Cell, Study

RETRIES = 8
"""Times that work is given to another worker after a loss."""
Given = TypeVar("Given")
Found = TypeVar("Found")
Keyed = tuple[Cell, str]
OnRows = Callable[[list[tuple[str, dict[str, Any]]]], None]


@contextmanager
def ray_cluster(address: str, *, workers: int | None = None) -> Iterator[Any]:
    """Ray, connected to a cluster.

    Args:
        address: ``ray`` for the cluster that ``RAY_ADDRESS`` names, the one that runs on this
            machine, or else a new one on its cores; ``ray://host:port`` for the one there.
        workers: processes of a new cluster; as many as there are cores by default.
    """
    require_address(address)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UsageError("--cluster ray needs Ray: pip install 'cltr[ray]'") from error
    there = ray.is_initialized()
    if not there:
        _connect(ray, address, workers)
    try:
        yield ray
    finally:
        if not there:
            ray.shutdown()


def _connect(ray: Any, address: str, workers: int | None) -> None:
    given: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address != "ray":
        given["address"] = address
    elif workers is not None and "RAY_ADDRESS" not in os.environ:
        given["num_cpus"] = workers
    at = os.environ.get("RAY_ADDRESS", "") if address == "ray" else address

    def start() -> None:
        _start(ray, include_dashboard=False if address == "ray" else None, **given)

    with common_arithmetic(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Ray about itself
        try:
            if at.startswith("ray://"):
                connect_client(at, start)
            else:
                start()
        except CltrError:
            raise
        except Exception as error:  # of any class: Ray raises Exception itself if it starts slowly
            line = next(iter(str(error).splitlines()), type(error).__name__)
            raise CltrError(f"--cluster {address}: Ray did not start: {line}") from error


def _start(ray: Any, **given: Any) -> None:
    """Start a cluster, or join one that runs on this machine: that has its processes already."""
    try:
        ray.init(**given)
    except ValueError:
        if given.pop("num_cpus", None) is None:
            raise
        ray.init(**given)


def compute_on_ray(
    study: Study,
    groups: list[list[Keyed]],
    *,
    address: str,
    workers: int | None = None,
    plugins: tuple[Path, ...] = (),
    tell: Callable[[], None],
    on_rows: OnRows,
) -> None:
    """Compute groups of cells on a cluster; rows come back, so that workers need no common disk.

    Args:
        study: where the cells stand.
        groups: cells that share their clicks, with their keys.
        address: of the cluster; see :func:`ray_cluster`.
        workers: processes of a new cluster.
        plugins: plugin files that workers load too.
        tell: called now and then.
        on_rows: given the rows of a group, by key, when it is done.
    """
    with ray_cluster(address, workers=workers) as ray:
        task = ray.remote(_cells).options(
            max_retries=RETRIES, runtime_env={"env_vars": CHOICES}, num_cpus=1
        )
        given = (study.to_toml(), [str(path.resolve()) for path in plugins], str(Path.cwd()))
        waiting = [task.remote(*given, _as_text(group)) for group in groups]
        try:
            while waiting:
                with in_touch():
                    finished, waiting = ray.wait(waiting, timeout=0.5)
                for one in finished:
                    on_rows(json.loads(_result(ray, one)))
                tell()
        finally:
            with suppress(ConnectionError):
                for one in waiting:
                    ray.cancel(one, force=True)


def _as_text(group: list[Keyed]) -> str:
    return json.dumps([[vars(cell), key] for cell, key in group])


def _result(ray: Any, reference: Any) -> Any:
    """What a task gave, or its error in one line."""
    try:
        with in_touch():
            return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = getattr(error, "cause", None) or error
        line = (str(cause).splitlines() or [""])[-1]
        raise CltrError(f"a worker of Ray failed: {line}") from error
    except ray.exceptions.RayError as error:
        line = (str(error).splitlines() or [""])[0]
        raise CltrError(
            f"Ray lost its workers {RETRIES + 1} times ({line}); finished runs are kept: run the "
            "same command again"
        ) from error


_here: dict[str, Any] = {}
"""In a worker process, what computes the cells of a study."""


def _cells(study: str, plugins: list[str], folder: str, group: str) -> str:
    """In a worker process: the rows of a group of cells, as JSON."""
    from cltr.files.storage import finite
    from cltr.studies.cell_worker import CellWorker

    if os.path.isdir(folder):
        os.chdir(folder)
    if study not in _here:
        from cltr.plugins import load_file

        for path in plugins:
            load_file(Path(path))
        _here.clear()
        _here[study] = Study.parse(tomllib.loads(study), owner=""), CellWorker(), set[str]()
    parsed, bench, known = _here[study]
    rows = []
    for values, key in json.loads(group):
        cell = Cell(**values)
        _check_key(parsed, cell, key)
        with _compiling(cell.method, known):
            rows.append([key, finite(bench.run(parsed, cell))])
    return json.dumps(rows, allow_nan=False)


def _check_key(study: Study, cell: Cell, key: str) -> None:
    from cltr.studies.cell_worker import ground_of, key_of

    if key_of(study, cell, ground_of(study.config(cell).data)) != key:
        raise DataError(
            "a worker has other data, other versions of packages or another kind of processor, and "
            "would give other numbers; install the same there"
        )


@contextmanager
def _compiling(method: str, known: set[str]) -> Iterator[None]:
    """One at a time on a machine when a method may have kernels to compile, as in the runner."""
    if method in known:
        yield
        return
    known.add(method)
    with open(Path(tempfile.gettempdir()) / "cltr-compiling.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def spread_on_ray(address: str) -> Iterator[Callable[[Any, Sequence[Any]], list[Any]]]:
    """What calls a function on each of several things, on a cluster; results are in order."""
    with ray_cluster(address) as ray:

        def spread(function: Callable[[Given], Found], things: Sequence[Given]) -> list[Found]:
            shared = ray.put(function)
            task = ray.remote(_call).options(max_retries=RETRIES, num_cpus=1)
            return [_result(ray, one) for one in [task.remote(shared, thing) for thing in things]]

        yield spread


def _call(function: Callable[[Given], Found], thing: Given) -> Found:
    return function(thing)
