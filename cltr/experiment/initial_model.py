"""Where training starts: production's own state, its scores, or random weights."""

from dataclasses import dataclass, replace

import numpy as np

from cltr.documents import Documents, ModelSetup
from cltr.experiment.config import RunConfig
from cltr.experiment.seeds import seed_for
from cltr.exposure.production_ranker import Production
from cltr.interfaces import Model, Scorer
from cltr.training.loop import TrainingOptions
from cltr.training.torch_model import ROWS_AT_ONCE, TorchModel
from cltr.types import Dataset, Floats, Lists


def new_model(
    scorer: Scorer,
    dataset: Dataset,
    *,
    seed: int = 0,
    options: TrainingOptions | None = None,
    standardize: bool = False,
) -> Model:
    """A scorer's model for a data set.

    Args:
        scorer: builds it.
        dataset: whose documents it scores.
        seed: of its initial weights, and of all that it draws.
        options: of the training that it is for; None if it is built to load a state.
        standardize: whether it standardises its inputs, by the training queries.
    """
    setup = ModelSetup(dataset.n_features, dataset.n_documents)
    if options is not None:
        setup = replace(
            setup,
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
            training=dataset.part("train"),
            standardize=standardize,
        )
    return scorer.build(setup, seed=seed)


def standardizes(config: RunConfig, dataset: Dataset) -> bool:
    """Whether models of a run standardise their inputs."""
    if config.standardize is not None:
        return config.standardize
    normalized = dataset.normalization is not None and dataset.normalization.name != "none"
    return config.version != "0.1" and not normalized


def start_model(
    config: RunConfig,
    dataset: Dataset,
    production: Production,
    scorer: Scorer,
    *,
    stays: bool = False,
) -> Model:
    """The model that training begins with.

    Args:
        config: of the run.
        dataset: with production's scores, where they are known or can be found.
        production: the ranker that served the clicks.
        scorer: builds the model.
        stays: whether the model must be production itself, since nothing will be learned.
    """
    seed = seed_for(config.seed, "start")
    own, same = production.model, production.scorer == scorer.name
    if config.init != "random" and own is not None and same and not scorer.needs_production:
        model = new_model(scorer, dataset, seed=seed, options=config.training)
        model.load_state(own.state())  # also how it standardises
        return model
    standardize = standardizes(config, dataset)
    model = new_model(scorer, dataset, seed=seed, options=config.training, standardize=standardize)
    if config.init == "random":
        return model
    known = np.zeros(dataset.n_queries, np.bool_)
    known[slice(*dataset.splits["train"])] = production.on(dataset, "train").known
    if production.scores is None and isinstance(model, TorchModel) and not (model.by_row or stays):
        options = config.training.model_copy(update={"learning_rate": IMITATION_RATE})
        pupil = new_model(scorer, dataset, seed=seed, options=options, standardize=standardize)
        imitate(pupil, Documents.of(dataset).only(known))
        model.load_state(pupil.state())
        return model
    model.start_from(Documents.of(dataset), known)
    return model


IMITATION_RATE, IMITATION_STEPS = 3e-3, 300
"""Step size and steps of learning to score like production."""


def imitate(model: Model, documents: Documents) -> None:
    """Learn to score documents as production did, up to a constant per query, by least squares.

    Only where production is known by counts: nobody can tell its scores of other documents, so
    there is nothing to add to, and the model must rank by itself.

    Args:
        model: to teach.
        documents: with scores that show what production showed.
    """
    parts = [part for _, part in documents.parts(ROWS_AT_ONCE)]
    for step in range(IMITATION_STEPS if parts else 0):
        part = parts[step % len(parts)]
        assert part.production is not None
        model.step(part, _Towards(part.production, Lists.of_offsets(part.offsets)))


@dataclass(frozen=True)
class _Towards:
    """The way from any scores to given ones, up to a constant per list."""

    target: Floats
    lists: Lists

    def __call__(self, scores: Floats) -> Floats:
        error = self.target - scores
        means = self.lists.sum(error) / np.maximum(self.lists.lengths, 1)
        return np.asarray((error - np.repeat(means, self.lists.lengths)) / len(error))

    def curvature(self, scores: Floats) -> Floats | None:
        return np.full(len(scores), 1.0 / len(scores))
