"""Refuse features that are NaN or infinite before a model sees them: it may hide what they do."""

import numpy as np

from cltr.errors import NotFiniteError
from cltr.types import Dataset


def require_finite_features(dataset: Dataset) -> None:
    """Raise where a feature is not finite, and say which; each data set is looked at once."""
    found = dataset.unusable_feature
    if found is None:
        return
    row, column = found
    query = int(np.searchsorted(dataset.offsets, row, side="right")) - 1
    raise NotFiniteError(
        f"{dataset.name or 'data set'}: feature {column + 1} of document "
        f"'{dataset.document_ids[row]}' of query '{dataset.query_ids[query]}' is "
        f"{dataset.features[row][column]}; replace what is not finite and import the data again"
    )
