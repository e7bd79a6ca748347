"""Scores of all documents of a data set, in bounded memory."""

import numpy as np

from cltr.data.finite_features import require_finite_features
from cltr.documents import Documents
from cltr.interfaces import Model
from cltr.training.torch_model import ROWS_AT_ONCE
from cltr.types import Dataset, Floats


def score(model: Model, dataset: Dataset, *, at_once: int = ROWS_AT_ONCE) -> Floats:
    """Scores of all documents, ``[docs]``; whole lists with so many documents at a time."""
    require_finite_features(dataset)
    documents = Documents.of(dataset)
    scores = np.empty(len(documents))
    for rows, part in documents.parts(at_once):
        scores[rows] = model.scores(part)
    return scores
