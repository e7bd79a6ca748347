"""Where training starts: production's own state, its scores, or random weights."""

from dataclasses import replace

import numpy as np

from cltr.documents import Documents, ModelSetup
from cltr.experiment.config import RunConfig
from cltr.experiment.seeds import seed_for
from cltr.exposure.production_ranker import Production
from cltr.interfaces import Model, Scorer
from cltr.training.loop import TrainingOptions
from cltr.types import Dataset


def new_model(
    scorer: Scorer, dataset: Dataset, *, seed: int = 0, options: TrainingOptions | None = None
) -> Model:
    """A scorer's model for a data set.

    Args:
        scorer: builds it.
        dataset: whose documents it scores.
        seed: of its initial weights, and of all that it draws.
        options: of the training that it is for; None if it is built to load a state.
    """
    setup = ModelSetup(dataset.n_features, dataset.n_documents)
    if options is not None:
        setup = replace(
            setup,
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
            training=dataset.part("train"),
        )
    return scorer.build(setup, seed=seed)


def start_model(
    config: RunConfig, dataset: Dataset, production: Production, scorer: Scorer
) -> Model:
    """The model that training begins with."""
    seed = seed_for(config.seed, "start")
    model = new_model(scorer, dataset, seed=seed, options=config.training)
    if config.init == "random":
        return model
    own, same = production.model, production.scorer == scorer.name
    if own is not None and same and not scorer.needs_production:
        model.load_state(own.state())
        return model
    known = np.zeros(dataset.n_queries, np.bool_)
    known[slice(*dataset.splits["train"])] = production.on(dataset, "train").known
    scores = production.start(dataset, config.top_k)
    model.start_from(Documents.of(replace(dataset, production=scores)), known)
    return model
