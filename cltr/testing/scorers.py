"""Conformance of scorers and of the models that they build."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cltr.documents import Documents, ModelSetup
from cltr.interfaces import Model, Scorer
from cltr.testing.demands import check_component, demand, unchanged
from cltr.testing.tiny_data import tiny_dataset
from cltr.types import Floats, Lists


def check_scorer(scorer: Scorer) -> None:
    """Its model scores whole lists, climbs, and goes on from its state to the same bits."""
    check_component(scorer)
    data = tiny_dataset()
    scores = data.features[:, 1].astype(np.float64)
    documents = Documents.of(replace(data, production=scores))
    setup = ModelSetup(
        data.n_features, data.n_documents, learning_rate=0.01, training=data.part("train")
    )

    def build() -> Model:
        return scorer.build(setup, seed=3)

    model = build()
    given = {"features": documents.features, "production scores": scores}
    with unchanged(**given):
        first = model.scores(documents)
    demand(first.shape == (len(documents),), "scores are not one number per document")
    demand(first.dtype == np.float64, f"scores are {first.dtype}, not float64")
    demand(bool(np.isfinite(first).all()), "scores are not finite")
    demand(np.array_equal(first, model.scores(documents)), "scoring twice gives other scores")
    demand(np.array_equal(first, build().scores(documents)), "the same seed gives other scores")
    pieces = [part for _, part in documents.parts(1)]
    alone = np.concatenate([model.scores(part) for part in pieces])
    demand(np.allclose(first, alone, atol=1e-5), "scores of a list depend on other lists")
    _check_steps(build, setup, scorer, documents)


def _check_steps(
    build: Callable[[], Model], setup: ModelSetup, scorer: Scorer, documents: Documents
) -> None:
    """Steps climb, and a model that is loaded after three of them makes the same fourth one."""
    target = documents.features[:, 0].astype(np.float64)
    lists = Lists.of_offsets(documents.offsets)
    climb = _Towards(target - (lists.sum(target) / lists.lengths)[lists.owners])
    model = build()
    before = model.scores(documents)
    with unchanged(features=documents.features):
        for _ in range(3):
            model.step(documents, climb)
    state, rest = dict(model.state()), dict(model.training_state())
    kept = {name: array.copy() for name, array in state.items()}
    loaded = scorer.build(replace(setup, training=None), seed=3)
    loaded.load_state(state)
    demand(
        np.array_equal(model.scores(documents), loaded.scores(documents)),
        "a model that loads a state scores otherwise than the model that gave it",
    )
    loaded.load_training_state(rest)
    model.step(documents, climb)
    loaded.step(documents, climb)
    again = model.scores(documents)
    demand(np.array_equal(again, loaded.scores(documents)), "a resumed model steps otherwise")
    demand(bool(np.isfinite(again).all()), "scores are not finite after a few steps")
    demand(bool((climb.direction * (again - before)).sum() > 0), "steps lead downhill")
    demand(
        all(np.array_equal(array, state[name]) for name, array in kept.items()),
        "a step changes arrays of a state that was given away",
    )
    model.load_state(state)
    model.load_training_state(rest)
    model.step(documents, climb)
    demand(
        np.array_equal(again, model.scores(documents)),
        "a model that goes back to an earlier state steps otherwise",
    )


@dataclass
class _Towards:
    """A direction that hardly depends on the scores, but does."""

    direction: Floats
    asked: int = 0

    def __call__(self, scores: Floats) -> Floats:
        self.asked += 1
        demand(scores.shape == self.direction.shape, "ascent is asked about other documents")
        return self.direction - 0.1 * scores

    def curvature(self, scores: Floats) -> Floats | None:
        return np.full(scores.shape, 0.1)
