"""A torch module as a model: the one adapter between torch and the training loop."""

import zlib
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from cltr.data.finite_features import require_finite_features
from cltr.documents import Documents, ModelSetup, State
from cltr.errors import DataError, UnsupportedError
from cltr.files.arrays import check_arrays
from cltr.interfaces import Ascent, Model, Scorer
from cltr.training.adam import Adam
from cltr.training.processes import ALONE, Processes
from cltr.training.standardize import PREFIX, Standardization, fit_standardization
from cltr.types import Booleans, Floats

if TYPE_CHECKING:
    import torch

ROWS_AT_ONCE = 65_536
"""Documents that are scored together: bounds memory, whatever the data set's size."""
NEGLIGIBLE = 1e-25
"""Slopes of smaller size are 0. A step of Adam by one alone is below 1e-15 of the learning rate.
And in products with weights and inputs they would become numbers so small that some processors,
those of Intel for example, take many times as long for each (``bench_small_slopes``)."""
ADDS = "adds_to_production"
"""In the state of a model whose scores are added to production's."""


class Tensors(NamedTuple):
    """The input of a module's ``forward``: the documents of whole lists."""

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
    """Base class of scorers that are a torch module. Define ``module``."""

    @abstractmethod
    def module(self, setup: ModelSetup) -> "torch.nn.Module":
        """Return a new module. It takes :class:`Tensors` and returns one score per document."""

    def build(self, setup: ModelSetup, *, seed: int) -> "TorchModel":
        with seeded(seed):
            model = TorchModel(self.module(setup), setup, seed=seed)
        if setup.standardize and setup.training is not None:
            require_finite_features(setup.training)
            model.inputs = fit_standardization(setup.training.features)
        return model


class TorchModel(Model):
    """Trains a module by Adam. What the module draws, in dropout say, depends on the seed alone.

    The model may standardise its inputs, and it may add its module's scores to production's.
    """

    by_row: ClassVar[bool] = False
    """Whether the model knows the rows of its data set and no other documents."""
    inputs: Standardization | None = None
    """How features are standardised; None if they are taken as they are."""
    adds: bool = False
    """Whether the module's scores are added to those of production."""

    processes: Processes = ALONE
    """Those that gradients are summed over."""

    def __init__(self, module: "torch.nn.Module", setup: ModelSetup, *, seed: int = 0) -> None:
        self.module = module
        self._setup, self._seed, self._steps = setup, seed, 0
        self._adam: Adam | None = None

    def scores(self, documents: Documents) -> Floats:
        import torch

        if self.module.training:
            self.module.eval()
        with torch.inference_mode():
            found: Floats = self.module(self._tensors(documents)).numpy().astype(np.float64)
        return found + self._base(documents)

    def _tensors(self, documents: Documents) -> Tensors:
        if self.inputs is not None:
            documents = replace(documents, features=self.inputs.apply(documents.features))
        return Tensors.of(documents)

    def _base(self, documents: Documents) -> "Floats | float":
        """What the module's scores are added to."""
        if not self.adds:
            return 0.0
        if documents.production is None:
            raise DataError(
                "the model starts from production's scores, and those of these documents are not "
                "known; give them, or train on a log with production's scores"
            )
        return documents.production

    def step(self, documents: Documents, ascent: Ascent) -> None:
        import torch

        if not self.module.training:
            self.module.train()
        adam = self._optimizer()
        with seeded(self._draws(self._steps)):
            scores = self.module(self._tensors(documents))
            own = scores.detach().numpy().astype(np.float64)
            direction = ascent(own + self._base(documents))
            adam.clear()
            descent = torch.from_numpy(_descent(direction)).to(scores.dtype)
            # The gradient of this sum is the descent itself. Handing it to backward would import
            # torch's compiler.
            (scores * descent).sum().backward()
        self.processes.add(adam)
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
        state = {name: one.numpy().copy() for name, one in self.module.state_dict().items()}
        inputs = {} if self.inputs is None else self.inputs.state()
        return {**state, **inputs, **({ADDS: np.array(True)} if self.adds else {})}

    def load_state(self, state: State) -> None:
        import torch

        self.inputs = Standardization.of_state(state)
        self.adds = ADDS in state
        given = {
            name: array
            for name, array in state.items()
            if name != ADDS and not name.startswith(PREFIX)
        }
        own = {name: one.numpy() for name, one in self.module.state_dict().items()}
        check_arrays(given, own, what="weights")
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in given.items()}
        self.module.load_state_dict(tensors)

    def training_state(self) -> State:
        if self._adam is None:
            return {}
        return {"steps": np.array(self._steps), **self._adam.state()}

    def load_training_state(self, state: State) -> None:
        if state:
            adam = self._optimizer()
            expected = {"steps": np.array(self._steps), **adam.state()}
            check_arrays(state, expected, what="state of the optimiser")
            self._steps = int(state["steps"])
            adam.load(state)

    def start_from(self, documents: Documents, queries: Booleans) -> None:
        """Add to production's scores, and nothing yet: the last layer of the module becomes 0."""
        import torch

        del documents, queries
        layers = [one for one in self.module.modules() if isinstance(one, torch.nn.Linear)]
        if not layers:
            raise UnsupportedError(
                "the module has no linear layer that could start at 0, so it cannot start from "
                "production; use --init random"
            )
        with torch.no_grad():
            for values in layers[-1].parameters():
                values.zero_()
        self.adds = True


def _descent(direction: Floats) -> Floats:
    """Against the direction of ascent, without negligible slopes."""
    return np.where(np.abs(direction) < NEGLIGIBLE, 0.0, -direction)


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
