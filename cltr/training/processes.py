"""Training by several processes: which queries each of them owns, and what is summed over all.

torchrun starts the same command several times. Every process opens the same data, draws the same
batches and keeps the same weights. In a step it scores only the queries that it owns, and gradients
are summed over all processes before anybody moves. So the policy is that of one process but for the
order of summation, and has the same bits whenever the number of processes is the same. The first
process alone writes the run and speaks; the others work on in a folder that goes with them.
"""

import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import CltrError, UnsupportedError
from cltr.files.claims import PARTIAL, hidden_folder
from cltr.files.launched import LOST, launched
from cltr.files.resuming import how_to_resume, start_with
from cltr.models import Model
from cltr.training.adam import Adam
from cltr.types import Exposure, Integers, Rewards

if TYPE_CHECKING:
    import torch


Places = tuple[Path | None, Path | None]


class ProcessesError(CltrError):
    """Processes that train together were separated, or do not agree."""


@dataclass(frozen=True)
class Share:
    """The queries of a split that a process owns: ``first`` to ``last - 1``."""

    first: int
    last: int
    rewards: Rewards
    """Of these queries alone."""

    def of(self, queries: Integers) -> Integers:
        """Those of some queries that are owned."""
        return queries[(queries >= self.first) & (queries < self.last)]


class Processes:
    """One process that trains alone: it owns all queries, and every sum is its own."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes the run and speaks."""
        return self.rank == 0

    def require(self, model: Model) -> None:
        """Refuse a model that several processes cannot train."""

    def connect(self, model: Model, training: Rewards) -> None:
        """Train a model with the other processes.

        Args:
            model: whose gradients are summed.
            training: what all processes must have computed alike.
        """

    def share(self, split: Rewards) -> Share:
        """What this process owns of a split."""
        return Share(0, split.dataset.n_queries, split)

    def draws(self, rng: np.random.Generator) -> np.random.Generator:
        """What a ranker draws from in this process."""
        return rng

    def total(self, value: float) -> float:
        """The sum of a number over all processes."""
        return value

    def add(self, optimizer: Adam) -> None:
        """Sum the gradients of a step over all processes."""

    def from_first(self, text: str) -> str:
        """The text of the first process."""
        return text

    def agree(self, arrays: Iterable[NDArray[Any]]) -> None:
        """Refuse to go on where processes do not have the same numbers."""

    @contextmanager
    def places(self, out: Path | None, resume: Path | None) -> Iterator[Places]:
        """Where this process writes: the folder of a new run, or that of one to resume."""
        yield out, resume


ALONE = Processes()
_current = ALONE


def current_processes() -> Processes:
    """Those that this process trains with; itself alone unless it has joined others."""
    return _current


class Together(Processes):
    """One of several processes, connected by gloo."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count = rank, count
        self.sent = 0
        """Bytes of the arrays that were summed so far."""

    def connect(self, model: Model, training: Rewards) -> None:
        self.require(model)
        model.processes = self  # type: ignore[attr-defined]
        self.agree([training.values, training.query_weights, *model.state().values()])

    def require(self, model: Model) -> None:
        if not hasattr(model, "processes"):
            raise UnsupportedError(
                "this scorer cannot be trained by several processes: they sum gradients, and it "
                "takes none; start cltr without torchrun, or use --scorer mlp"
            )

    def share(self, split: Rewards) -> Share:
        """Queries that lie side by side, with about the same number of documents for everyone."""
        offsets = split.dataset.offsets
        goals = np.arange(self.count + 1) * (split.dataset.n_documents / self.count)
        first, last = np.searchsorted(offsets, goals)[self.rank : self.rank + 2].tolist()
        rows = slice(int(offsets[first]), int(offsets[last]))
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

    def draws(self, rng: np.random.Generator) -> np.random.Generator:
        return rng.spawn(self.count)[self.rank]

    def total(self, value: float) -> float:
        import torch

        held = torch.tensor([value], dtype=torch.float64)
        self._sum(held)
        return float(held)

    def add(self, optimizer: Adam) -> None:
        import torch

        alike: dict[torch.dtype, list[torch.Tensor]] = {}
        for gradient in optimizer.gradients():
            alike.setdefault(gradient.dtype, []).append(gradient)
        for group in alike.values():
            flat = torch.cat([one.reshape(-1) for one in group])
            self._sum(flat)
            parts = torch.split(flat, [one.numel() for one in group])
            for one, part in zip(group, parts, strict=True):
                one.copy_(part.view_as(one))

    def from_first(self, text: str) -> str:
        import torch

        data = text.encode("utf-8", "surrogateescape")
        length = torch.tensor([len(data)])
        with _lost():
            torch.distributed.broadcast(length, 0)
            own = data if self.first else bytes(int(length))
            held = torch.frombuffer(bytearray(own), dtype=torch.uint8)
            torch.distributed.broadcast(held, 0)
        return held.numpy().tobytes().decode("utf-8", "surrogateescape")

    def agree(self, arrays: Iterable[NDArray[Any]]) -> None:
        import torch

        own = 0
        for array in arrays:
            own = zlib.crc32(np.ascontiguousarray(array).tobytes(), own)
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


@contextmanager
def joined() -> Iterator[Processes]:
    """Train with the other processes that torchrun has started, if there are any."""
    global _current  # noqa: PLW0603  # a process trains with the same others all its life
    count = launched()
    if count == 1:
        yield ALONE
        return
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    os.environ.setdefault("NUMBA_NUM_THREADS", f"{max(1, (os.cpu_count() or 1) // local)}")
    machines = ("--nnodes", f"{count // local}") if count > local else ()
    start_with("torchrun", *machines, "--nproc-per-node", f"{local}", "-m", "cltr")
    import torch.distributed

    with _lost():
        torch.distributed.init_process_group("gloo")
    _current = Together(torch.distributed.get_rank(), count)
    try:
        yield _current
    finally:
        _current = ALONE
        torch.distributed.destroy_process_group()
