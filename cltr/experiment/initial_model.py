"""Where training starts: production's weights, a fit to its scores, or random weights."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cltr.experiment.config import RunConfig
from cltr.experiment.seeds import seed_for
from cltr.exposure.production_ranker import Production
from cltr.interfaces import Scorer
from cltr.training.score_documents import fit_scores, new_module
from cltr.types import Booleans, Dataset, Floats

if TYPE_CHECKING:
    import torch


def start_module(
    config: RunConfig, dataset: Dataset, production: Production, scorer: Scorer
) -> "torch.nn.Module":
    """The module that training begins with."""
    module = new_module(scorer, dataset, seed=seed_for(config.seed, "start"))
    if config.init == "random":
        return module
    if production.module is not None and production.scorer == scorer.name:
        module.load_state_dict(production.module.state_dict())
        return module
    scores = production.start(dataset, config.top_k)
    if not scorer.copy_scores(module, scores):
        known = production.on(dataset, "train").known
        fit_scores(module, *_chosen(dataset.part("train"), scores, known))
    return module


def _chosen(dataset: Dataset, scores: Floats, queries: Booleans) -> tuple[Dataset, Floats]:
    """The queries of a split on which production is known, with its scores."""
    rows = slice(dataset.first_document, dataset.first_document + dataset.n_documents)
    if queries.all():
        return dataset, scores[rows]
    documents = np.repeat(queries, dataset.lists.lengths)
    offsets = np.concatenate([[0], np.cumsum(dataset.lists.lengths[queries])])
    chosen = replace(
        dataset,
        features=dataset.features[documents],
        labels=dataset.labels[documents],
        offsets=offsets,
        query_ids=dataset.query_ids[queries],
        document_ids=dataset.document_ids[documents],
    )
    return chosen, scores[rows][documents]
