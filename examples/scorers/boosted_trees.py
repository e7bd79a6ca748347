"""Boosted trees by LightGBM: each epoch adds a tree to the scores of production.

pip install 'cltr[lightgbm]'
cltr train --plugin examples/scorers/boosted_trees.py --scorer boosted-trees

The gradients are those of the ranker over all training queries, and the ranker's curvature stands
in for second derivatives. It is a preconditioner, not the second derivative of the objective, so it
is set to a positive floor.

A saved model is what is *added* to production's scores: it cannot score documents without them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cltr.documents import Documents, ModelSetup, State
from cltr.hookspecs import hookimpl
from cltr.interfaces import Ascent, Model, Scorer
from cltr.options import Options
from cltr.types import Booleans, Floats

FEATURE, THRESHOLD, LEFT, RIGHT, VALUE = range(5)
"""Columns of a tree, one row per node; a leaf has the feature -1."""


class BoostedTrees(Scorer):
    """Trees by LightGBM, added to the scores of production."""

    name = "boosted-trees"
    needs_production = True

    class Options(Options):
        """How trees grow."""

        shrinkage: float = Field(0.3, gt=0, le=1, description="share of a tree that is added.")
        leaves: int = Field(15, ge=2, description="most leaves of a tree; more can fit more.")
        smallest_leaf: int = Field(20, ge=1, description="fewest documents of a leaf.")
        largest_step: float = Field(
            3.0,
            gt=0,
            description="most that a leaf may move a score, before shrinkage. Scores that move by "
            "x change weights by a factor of e^2x at most.",
        )
        floor: float = Field(0.01, gt=0, description="least curvature; larger takes smaller steps.")

    options: "BoostedTrees.Options"

    def build(self, setup: ModelSetup, *, seed: int) -> "TreeModel":
        del setup
        return TreeModel(self.options, seed=seed)


class TreeModel(Model):
    """A list of trees; it only grows, so a checkpoint writes the new trees alone."""

    whole = True

    def __init__(self, options: BoostedTrees.Options, *, seed: int) -> None:
        self._options, self._seed = options, seed
        self._trees: dict[str, Floats] = {}
        self._training: tuple[Documents, Any, Floats] | None = None
        """Documents of the last step, as LightGBM holds them, and their scores."""

    def scores(self, documents: Documents) -> Floats:
        found = _production(documents)
        features = np.asarray(documents.features)
        for tree in self._trees.values():
            found = found + _outputs(tree, features)
        return found

    def step(self, documents: Documents, ascent: Ascent) -> None:
        if self._training is None or self._training[0] is not documents:
            self._training = documents, self._binned(documents), self.scores(documents)
        _, binned, scores = self._training
        n_lists = len(documents.offsets) - 1  # directions are of the mean over lists
        direction, curvature = ascent(scores), ascent.curvature(scores)
        if curvature is None:
            curvature = np.abs(direction)
        floored = np.maximum(n_lists * curvature, self._options.floor)
        tree = self._grow(binned, -n_lists * direction, floored)
        self._trees = {**self._trees, f"tree{len(self._trees):06d}": tree}
        scores = scores + _outputs(tree, np.asarray(documents.features))
        self._training = documents, binned, scores

    def state(self) -> State:
        return self._trees

    def load_state(self, state: State) -> None:
        for name, tree in state.items():
            _check(name, tree)
        self._trees, self._training = dict(sorted(state.items())), None

    def start_from(self, documents: Documents, queries: Booleans) -> None:
        """Without trees the scores are those of production, to the bit."""
        del documents, queries

    def _binned(self, documents: Documents) -> Any:
        import lightgbm

        features = np.asarray(documents.features)
        return lightgbm.Dataset(features, params=self._parameters(0)).construct()

    def _grow(self, binned: Any, gradient: Floats, curvature: Floats) -> Floats:
        """One tree for these gradients. LightGBM copies its parameters, hence a closure."""
        import lightgbm

        booster = lightgbm.Booster(self._parameters(len(self._trees)), train_set=binned)
        booster.update(fobj=lambda scores, data: (gradient, curvature))
        dumped = booster.dump_model()["tree_info"]
        return np.array(list(_rows(dumped[0]["tree_structure"])) if dumped else [_leaf(0.0)])

    def _parameters(self, tree: int) -> dict[str, Any]:
        options = self._options
        return {
            "objective": "none",
            "learning_rate": options.shrinkage,
            "num_leaves": options.leaves,
            "min_data_in_leaf": options.smallest_leaf,
            "max_delta_step": options.largest_step,
            "seed": (self._seed + tree) % 2**31,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "use_missing": False,
            "feature_pre_filter": False,
            "verbosity": -1,
        }


def _production(documents: Documents) -> Floats:
    if documents.production is None:
        return np.zeros(len(documents))
    return documents.production.astype(np.float64)


def _leaf(value: float) -> list[float]:
    return [-1, 0.0, 0, 0, value]


def _rows(node: dict[str, Any], first: int = 0) -> Iterator[list[float]]:
    """The nodes of a tree that LightGBM dumps, each before those below it."""
    if "split_feature" not in node:
        yield _leaf(node["leaf_value"])
        return
    left = list(_rows(node["left_child"], first + 1))
    right = list(_rows(node["right_child"], first + 1 + len(left)))
    below = (first + 1, first + 1 + len(left))
    yield [node["split_feature"], node["threshold"], *below, 0.0]
    yield from left
    yield from right


def _outputs(tree: Floats, features: NDArray[np.float32]) -> Floats:
    """What a tree adds to each score, ``[docs]``; one turn of the loop for each level."""
    at = np.zeros(len(features), np.int64)
    documents = np.arange(len(features))
    while True:
        nodes = tree[at]
        inner = nodes[:, FEATURE] >= 0
        if not inner.any():
            return np.asarray(nodes[:, VALUE])
        values = features[documents, np.maximum(nodes[:, FEATURE], 0).astype(np.int64)]
        below = np.where(values <= nodes[:, THRESHOLD], nodes[:, LEFT], nodes[:, RIGHT])
        at = np.where(inner, below, at).astype(np.int64)


def _check(name: str, tree: NDArray[Any]) -> None:
    """Links lead down the table, so that walking ends."""
    if tree.dtype != np.float64 or tree.ndim != 2 or tree.shape[1] != 5 or not len(tree):
        raise ValueError(f"{name} is no tree: {tree.dtype} {tree.shape}")
    inner = np.flatnonzero(tree[:, FEATURE] >= 0)
    links = tree[inner][:, [LEFT, RIGHT]]
    if not np.isfinite(tree).all() or (links <= inner[:, None]).any() or (links >= len(tree)).any():
        raise ValueError(f"{name} is no tree: its links lead elsewhere")


@hookimpl
def cltr_scorers() -> list[type[Any]]:
    """Offer it by name: ``--scorer boosted-trees``."""
    return [BoostedTrees]
