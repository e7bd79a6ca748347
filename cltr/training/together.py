"""One of several processes that train together: what is sent, what is summed, and who is lost.

The first process alone reads clicks, writes the run and speaks; the others train with it, in a
folder that goes with them.
"""

import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import UnsupportedError
from cltr.files.claims import PARTIAL, hidden_folder
from cltr.files.launched import LOST, launched
from cltr.files.resuming import how_to_resume, start_with
from cltr.models import Model
from cltr.training.adam import Adam
from cltr.training.processes import ALONE, Places, Processes, ProcessesError, Share, train_with
from cltr.training.signs_of_life import signs_of_life
from cltr.types import Dataset, Exposure, Floats, Rewards

if TYPE_CHECKING:
    import torch

VALUES_AT_ONCE = 2**22
"""Values of documents in one message."""
LONGEST_WAIT = timedelta(days=7)
"""Others wait while the first process reads, fits and checks. A lost one is noticed at once, a
frozen one by :mod:`cltr.training.signs_of_life`."""


class Together(Processes):
    """One of several processes, connected by torch."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count = rank, count
        self.sent = 0
        """Bytes of the arrays that were summed so far."""

    def connect(self, model: Model, training: Rewards) -> None:
        self.require(model)
        model.processes = self  # type: ignore[attr-defined]
        self.agree([training.query_weights, *model.state().values()])

    def require(self, model: Model) -> None:
        if not hasattr(model, "processes"):
            raise UnsupportedError(
                "this scorer cannot be trained by several processes: they sum gradients, and it "
                "takes none; start cltr without torchrun, or use --scorer mlp"
            )

    def share(self, split: Rewards) -> Share:
        """Queries that lie side by side, with about the same number of documents for everyone."""
        first, last = self._queries(split.dataset, self.rank)
        rows = self.own_rows(split.dataset)
        given = split.exposure
        exposure = Exposure(
            given.weights[rows], given.propensities[rows], given.attention[rows], given.source
        )
        own = replace(
            split,
            dataset=split.dataset.queries(first, last),
            values=split.values[rows],
            exposure=exposure,
            query_weights=split.query_weights[first:last],
            statistics=None,
        )
        return Share(first, last, own)

    def _queries(self, dataset: Dataset, rank: int) -> tuple[int, int]:
        goals = np.arange(self.count + 1) * (dataset.n_documents / self.count)
        first, last = np.searchsorted(dataset.offsets, goals)[rank : rank + 2].tolist()
        return first, last

    def _rows_of(self, dataset: Dataset, rank: int) -> slice:
        first, last = self._queries(dataset, rank)
        return slice(int(dataset.offsets[first]), int(dataset.offsets[last]))

    def own_rows(self, dataset: Dataset) -> slice:
        return self._rows_of(dataset, self.rank)

    def deal(self, values: Floats | None, dataset: Dataset) -> Floats:
        if self.first:
            assert values is not None
            for rank in range(1, self.count):
                self._send(values[self._rows_of(dataset, rank)], rank)
            return values
        # The system gives memory to a page of zeros when something is written to it, not before.
        held = np.zeros(dataset.n_documents)
        self._receive(held[self.own_rows(dataset)])
        return held

    def draws(self, rng: np.random.Generator) -> np.random.Generator:
        return rng.spawn(self.count)[self.rank]

    def total(self, value: float) -> float:
        import torch

        held = torch.tensor([value], dtype=torch.float64)
        self._sum(held)
        return float(held)

    def add(self, optimizer: Adam) -> None:
        import torch

        alike: dict[tuple[torch.dtype, torch.device], list[torch.Tensor]] = {}
        for gradient in optimizer.gradients():
            alike.setdefault((gradient.dtype, gradient.device), []).append(gradient)
        for group in alike.values():
            flat = torch.cat([one.reshape(-1) for one in group])
            self._sum(flat)
            parts = torch.split(flat, [one.numel() for one in group])
            for one, part in zip(group, parts, strict=True):
                one.copy_(part.view_as(one))

    def from_first(self, text: str) -> str:
        data = self.bytes_from_first(text.encode("utf-8", "surrogateescape"))
        return data.decode("utf-8", "surrogateescape")

    def bytes_from_first(self, data: bytes) -> bytes:
        import torch

        length = torch.tensor([len(data)])
        with _lost():
            torch.distributed.broadcast(length, 0)
            own = data if self.first else bytes(int(length))
            held = torch.frombuffer(bytearray(own), dtype=torch.uint8)
            torch.distributed.broadcast(held, 0)
        return held.numpy().tobytes()

    def _send(self, values: Floats, rank: int) -> None:
        import torch

        for start in range(0, len(values), VALUES_AT_ONCE):
            part = torch.tensor(values[start : start + VALUES_AT_ONCE])
            with _lost():
                torch.distributed.send(part, rank)

    def _receive(self, values: Floats) -> None:
        import torch

        for start in range(0, len(values), VALUES_AT_ONCE):
            with _lost():
                torch.distributed.recv(torch.from_numpy(values[start : start + VALUES_AT_ONCE]), 0)

    def agree(self, arrays: Iterable[NDArray[Any]]) -> None:
        import torch

        own = 0
        for array in arrays:
            own = zlib.crc32(np.ascontiguousarray(array), own)  # type: ignore[arg-type]
        held = torch.tensor([own])
        all_of_them = [torch.zeros_like(held) for _ in range(self.count)]
        with _lost():
            torch.distributed.all_gather(all_of_them, held)
        if len({int(one) for one in all_of_them}) > 1:
            raise ProcessesError(
                "the processes of this run do not have the same numbers, so they cannot train "
                "together; start them with the same files, packages, threads and processors"
            )

    @contextmanager
    def places(self, out: Path | None, resume: Path | None) -> Iterator[Places]:
        if self.first:
            self.agree([])  # others have read what they need
            yield out, resume
            return
        # Files that a run names are found from its folder, so the copy lies beside it.
        with hidden_folder(None if resume is None else resume.absolute().parent) as folder:
            if resume is not None and resume.is_dir():
                ignored = shutil.ignore_patterns(f"*{PARTIAL}")
                shutil.copytree(resume, folder, ignore=ignored, dirs_exist_ok=True)
            self.agree([])
            yield (folder / "run", None) if resume is None else (None, folder)

    def _sum(self, tensor: "torch.Tensor") -> None:
        import torch

        with _lost():
            torch.distributed.all_reduce(tensor)
        self.sent += tensor.numel() * tensor.element_size()


@contextmanager
def _lost() -> Iterator[None]:
    """A connection that breaks means that another process has ended."""
    try:
        yield
    except RuntimeError as error:
        raise ProcessesError(f"{LOST}; {how_to_resume()}") from error


def backend(local: int) -> str:
    """What sums tensors: gloo those in memory, nccl those on graphics cards.

    Args:
        local: processes on this machine; nccl needs a card for each of them.
    """
    import torch

    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not torch.distributed.is_nccl_available() or cards < local:
        return "gloo"
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    return "cpu:gloo,cuda:nccl"


@contextmanager
def joined(end: Callable[[str], object]) -> Iterator[Processes]:
    """Train with the other processes that torchrun has started, if there are any.

    Args:
        end: ends this process with a message, whatever its threads do; called if another one is
            frozen.
    """
    count = launched()
    if count == 1:
        yield ALONE
        return
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    os.environ.setdefault("NUMBA_NUM_THREADS", f"{max(1, (os.cpu_count() or 1) // local)}")
    machines: tuple[str, ...] = ()
    if count > local:
        machines = ("--nnodes", f"{count // local}", "--rdzv-backend", "c10d")
        machines += ("--rdzv-endpoint", "HOST:PORT")
    start_with("torchrun", *machines, "--nproc-per-node", f"{local}", "-m", "cltr", "--")
    import torch.distributed

    def give_up(reason: str) -> None:
        end(f"{reason}; {how_to_resume()}")

    with signs_of_life(int(os.environ["RANK"]), count, give_up):
        with _lost():
            torch.distributed.init_process_group(backend(local), timeout=LONGEST_WAIT)
        processes = Together(torch.distributed.get_rank(), count)
        train_with(processes)
        try:
            yield processes
        finally:
            train_with(ALONE)
            torch.distributed.destroy_process_group()
