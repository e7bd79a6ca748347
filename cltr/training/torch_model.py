"""A torch module as a model: the one adapter between torch and the training loop."""

import zlib
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cltr.documents import Documents, ModelSetup, State
from cltr.interfaces import Ascent, Model, Scorer
from cltr.training.adam import Adam
from cltr.types import Booleans, Floats

if TYPE_CHECKING:
    import torch

ROWS_AT_ONCE = 65_536
"""Documents that are scored together: bounds memory, whatever the data set's size."""
START_STEPS, START_RATE = 300, 3e-3
"""Steps and step size of a fit to production's scores."""


class Tensors(NamedTuple):
    """What a module's ``forward`` takes: the documents of whole lists."""

    features: "torch.Tensor"
    """``[docs, features]``, float32."""
    rows: "torch.Tensor"
    """Row of each document in the whole data set, ``[docs]``."""
    offsets: "torch.Tensor"
    """``[lists + 1]``: the documents of list i are ``offsets[i]:offsets[i + 1]``."""
    production: "torch.Tensor | None"
    """Scores of the production ranker, ``[docs]``, where they are known; float64."""

    @classmethod
    def of(cls, documents: Documents) -> "Tensors":
        """Features that lie on disk are read here."""
        import torch

        features = np.ascontiguousarray(documents.features, dtype=np.float32)
        production = documents.production
        return cls(
            torch.from_numpy(features),
            torch.from_numpy(documents.rows),
            torch.from_numpy(documents.offsets),
            None if production is None else torch.from_numpy(production),
        )


class TorchScorer(Scorer):
    """Base of scorers that are a torch module; give it a ``module``."""

    @abstractmethod
    def module(self, setup: ModelSetup) -> "torch.nn.Module":
        """A new module, from :class:`Tensors` to one score for each document, ``[docs]``."""

    def build(self, setup: ModelSetup, *, seed: int) -> "TorchModel":
        with seeded(seed):
            return TorchModel(self.module(setup), setup, seed=seed)


class TorchModel(Model):
    """Trains a module by Adam. What the module draws, in dropout say, depends on the seed alone."""

    def __init__(self, module: "torch.nn.Module", setup: ModelSetup, *, seed: int = 0) -> None:
        self.module = module
        self._setup, self._seed, self._steps = setup, seed, 0
        self._adam: Adam | None = None

    def scores(self, documents: Documents) -> Floats:
        import torch

        if self.module.training:
            self.module.eval()
        with torch.inference_mode():
            found: Floats = self.module(Tensors.of(documents)).numpy().astype(np.float64)
        return found

    def step(self, documents: Documents, ascent: Ascent) -> None:
        import torch

        if not self.module.training:
            self.module.train()
        adam = self._optimizer()
        with seeded(self._draws(self._steps)):
            scores = self.module(Tensors.of(documents))
            direction = ascent(scores.detach().numpy().astype(np.float64))
            adam.clear()
            scores.backward(torch.from_numpy(-direction).to(scores.dtype))
        adam.step()
        self._steps += 1

    def _optimizer(self) -> Adam:
        if self._adam is None:
            self._adam = Adam(
                self.module.named_parameters(),
                learning_rate=self._setup.learning_rate,
                weight_decay=self._setup.weight_decay,
            )
        return self._adam

    def _draws(self, step: int) -> int:
        """The seed of what is drawn in a step."""
        return zlib.crc32(b"%d:%d" % (self._seed, step))

    def state(self) -> State:
        return {name: one.numpy().copy() for name, one in self.module.state_dict().items()}

    def load_state(self, state: State) -> None:
        import torch

        tensors = {name: torch.from_numpy(np.array(array)) for name, array in state.items()}
        try:
            self.module.load_state_dict(tensors)
        except RuntimeError as error:
            raise ValueError(str(error)) from error

    def training_state(self) -> State:
        if self._adam is None:
            return {}
        return {"steps": np.array(self._steps), **self._adam.state()}

    def load_training_state(self, state: State) -> None:
        if state:
            self._steps = int(state["steps"])
            self._optimizer().load(state)

    def start_from(self, documents: Documents, queries: Booleans) -> None:
        """Fit the module to production's scores, up to a constant per query.

        Least squares on scores centred per list, since a constant changes no ranking. Steps are
        on all documents, or on parts of a data set with very many, in turn.
        """
        parts = [part for _, part in documents.only(queries).parts(ROWS_AT_ONCE)]
        adam = Adam(self.module.named_parameters(), learning_rate=START_RATE)
        for step in range(START_STEPS if parts else 0):
            with seeded(self._draws(-1 - step)):
                adam.clear()
                error = _squared_error(self.module, parts[step % len(parts)])
                error.backward()  # type: ignore[no-untyped-call]
            adam.step()


def _squared_error(module: "torch.nn.Module", documents: Documents) -> "torch.Tensor":
    import torch

    tensors = Tensors.of(documents)
    if tensors.production is None:
        raise ValueError("there are no scores of production to start from")
    lengths = torch.diff(tensors.offsets)
    owner = torch.repeat_interleave(lengths)

    def centred(values: torch.Tensor) -> torch.Tensor:
        sums = torch.zeros(len(lengths), dtype=values.dtype).index_add(0, owner, values)
        return values - (sums / lengths.clamp(min=1))[owner]

    found = module(tensors)
    return torch.mean((centred(found) - centred(tensors.production).to(found.dtype)) ** 2)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch draws from this seed inside, and as if nothing had happened afterwards."""
    import torch

    generator = torch.default_generator
    before = generator.get_state()
    generator.manual_seed(seed)
    try:
        yield
    finally:
        generator.set_state(before)
