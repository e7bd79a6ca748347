"""All cells of a study, on the cores there are; a cell that is done is never lost or done again.

Cells are computed in processes of their own, also where one is enough: they have the arithmetic of
:mod:`cltr.studies.portable_arithmetic`, which libraries cannot take up once they are loaded.
A study's folder holds ``study.toml``, a file per cell below ``cells/`` (written beside, then
renamed, by the process that computed it), and what :mod:`cltr.studies.summary` makes of them.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, TypedDict

from cltr.errors import CltrError
from cltr.experiment.components import compose, needed_plugins
from cltr.files.claims import TakenError, remove_leftovers, reserve
from cltr.files.resuming import resume_with_the_same
from cltr.files.storage import make_folder, write_beside
from cltr.studies.cell_files import CELLS, cell_file, forget_failed, read_row, write_row
from cltr.studies.cell_worker import CellWorker, ground_of, key_of
from cltr.studies.portable_arithmetic import common_arithmetic
from cltr.studies.ray_client import require_address
from cltr.studies.study import Cell, Study

WAITING = 0.5
"""Seconds between two looks at a cell that another process computes."""
STUDY = "study.toml"
Keyed = tuple[Cell, str]


@dataclass(frozen=True)
class Progressed:
    """How far a study is."""

    done: int
    failed: int
    total: int
    found_before: int


class Running(TypedDict, total=False):
    """How :func:`run_study` computes: its arguments, for those that pass them on."""

    workers: int | None
    plugins: tuple[Path, ...]
    cluster: str
    on_progress: Callable[[Progressed], None]


def run_study(
    study: Study,
    folder: Path,
    *,
    workers: int | None = None,
    plugins: tuple[Path, ...] = (),
    cluster: str = "",
    on_progress: Callable[[Progressed], None] = lambda progressed: None,
) -> list[dict[str, Any]]:
    """Compute what is missing; rows of all cells, in the study's order.

    Args:
        study: what to compare.
        folder: where its cells are kept; cells of an earlier or interrupted start are used.
        workers: processes; as many as there are cores by default.
        plugins: plugin files that workers must load too.
        cluster: ``ray`` or ``ray://host:port``, to compute on a Ray cluster; processes if empty.
        on_progress: called now and then.
    """
    if cluster:
        require_address(cluster)
    needed = check_methods(study)
    resume_with_the_same()
    groups = _keyed(study)
    study = study.model_copy(update={"plugins": needed})
    _prepare(study, folder)
    cells = [keyed for group in groups for keyed in group]
    before = {key for _, key in cells if (row := read_row(folder, key)) and row["status"] == "done"}
    forget_failed(folder, [key for _, key in cells if key not in before])
    missing = [[keyed for keyed in group if keyed[1] not in before] for group in groups]

    statuses = dict.fromkeys(before, "done")
    keys = {key for _, key in cells}

    def tell() -> None:
        for key in keys - set(statuses):
            if row := read_row(folder, key):
                statuses[key] = row["status"]
        found = [statuses[key] for _, key in cells if key in statuses]
        failed = sum(status != "done" for status in found)
        done_before = sum(key in before for _, key in cells)
        on_progress(Progressed(len(found), failed, len(cells), done_before))

    tell()
    wanted = [group for group in missing if group]
    if cluster and wanted:
        _compute_on_ray(study, folder, wanted, cluster, workers, plugins, tell)
    else:
        _compute(
            study,
            folder,
            wanted,
            workers=workers or os.cpu_count() or 1,
            plugins=plugins,
            tell=tell,
        )
    return [vars(cell) | (read_row(folder, key) or {"status": "missing"}) for cell, key in cells]


def check_methods(study: Study) -> dict[str, str]:
    """Check names and options of every method before anything is computed.

    Returns:
        The plugins that the methods need.
    """
    needed: dict[str, str] = {}
    for method in study.methods:
        for users in study.people:
            cell = Cell(method, study.seeds[0], study.interactions[0], users)
            try:
                needed |= needed_plugins(compose(study.config(cell), needs=study.plugins))
            except CltrError as error:
                raise type(error)(f"method '{method}': {error}") from error
    return needed


def _prepare(study: Study, folder: Path) -> None:
    make_folder(folder)
    make_folder(folder / CELLS)
    remove_leftovers(folder / CELLS)
    with write_beside(folder / STUDY, wait=True) as temporary:
        temporary.write_text(study.to_toml(), encoding="utf-8")


def _keyed(study: Study) -> list[list[Keyed]]:
    """Cells with their keys: those of other data, versions or arithmetic have another one."""
    from cltr.data.loading import load_dataset
    from cltr.experiment.label_training import require_judgements

    names = {study.config(cell).data for group in study.groups() for cell in group}
    for name in names:
        require_judgements(load_dataset(name), "simulated users need")
    grounds = {name: ground_of(name) for name in names}
    return [
        [(cell, key_of(study, cell, grounds[study.config(cell).data])) for cell in group]
        for group in study.groups()
    ]


def _compute_on_ray(
    study: Study,
    folder: Path,
    groups: list[list[Keyed]],
    cluster: str,
    workers: int | None,
    plugins: tuple[Path, ...],
    tell: Callable[[], None],
) -> None:
    from cltr.studies.ray_cluster import compute_on_ray

    def keep(rows: list[tuple[str, dict[str, Any]]]) -> None:
        for key, row in rows:
            write_row(folder, key, row)

    compute_on_ray(
        study, groups, address=cluster, workers=workers, plugins=plugins, tell=tell, on_rows=keep
    )


def _compute(
    study: Study,
    folder: Path,
    groups: list[list[Keyed]],
    *,
    workers: int,
    plugins: tuple[Path, ...],
    tell: Callable[[], None],
) -> None:
    if not groups:
        return
    processes, others = get_context("spawn"), set(active_children())
    pool = ProcessPoolExecutor(
        min(workers, len(groups)),
        mp_context=processes,
        initializer=_start_worker,
        initargs=(study.to_toml(), folder, plugins, processes.Lock()),
    )
    try:
        while groups:
            with common_arithmetic():  # for the processes that start as groups are handed in
                waiting: set[Future[list[Keyed]]] = {pool.submit(_work, one) for one in groups}
            groups = _finish(waiting, tell)
    except BrokenProcessPool as error:
        raise CltrError(
            f"{folder}: a worker process died, perhaps for lack of memory; finished runs are kept: "
            "run the same command again, with --workers 1 if memory is short"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        left = set(active_children()) - others
        for process in left:
            process.terminate()
        for process in left:
            process.join(1.0)
        remove_leftovers(folder / CELLS, again=bool(left))


def _finish(waiting: set["Future[list[Keyed]]"], tell: Callable[[], None]) -> list[list[Keyed]]:
    """Wait for groups of cells; those that other processes are at come back, to be looked at again.

    They are done by then, or their process has ended and they are computed here.
    """
    taken = []
    while waiting:
        finished, waiting = wait(waiting, timeout=0.5)
        tell()
        taken += [left for future in finished if (left := future.result())]
    if taken:
        time.sleep(WAITING)
    return taken


class _Worker:
    """Computes groups of cells, in a process of its own."""

    def __init__(self, study: Study, folder: Path, first: Any) -> None:
        self._study, self._folder, self._bench = study, folder, CellWorker()
        self._first, self._known = first, set[str]()

    def work(self, group: list[Keyed]) -> list[Keyed]:
        """Compute cells that share their clicks, and write each as it is done.

        Returns:
            Cells that another process is at.
        """
        return [keyed for keyed in group if not self._cell(*keyed)]

    def _cell(self, cell: Cell, key: str) -> bool:
        """Compute a cell unless it is there; False if another process is at it."""
        try:
            with reserve(cell_file(self._folder, key)):
                if read_row(self._folder, key) is None:
                    with self._compiling(cell.method):
                        row = self._bench.run(self._study, cell)
                    write_row(self._folder, key, row)
        except TakenError:
            return False
        return True

    def _compiling(self, method: str) -> Any:
        """One at a time when a method may have kernels to compile: they share numba's cache."""
        if method in self._known:
            return nullcontext()
        self._known.add(method)
        return self._first


_here: dict[str, _Worker] = {}
"""In a worker process, its worker."""


def _start_worker(study: str, folder: Path, plugins: tuple[Path, ...], first: Any) -> None:
    """The parent handles Ctrl-C, and a worker without a parent ends."""
    import tomllib

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if plugins:
        from cltr.plugins import load_file

        for path in plugins:
            load_file(path)
    _here["worker"] = _Worker(Study.parse(tomllib.loads(study), owner=""), folder, first)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _work(group: list[Keyed]) -> list[Keyed]:
    return _here["worker"].work(group)
