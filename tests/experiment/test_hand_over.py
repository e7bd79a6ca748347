"""Guards what a run leaves for those who use its model."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.data.normalization import Normalization
from cltr.documents import Documents
from cltr.errors import DataError
from cltr.experiment.hand_over import Inputs, Sample
from cltr.files.storage import finite
from cltr.interfaces import Model
from cltr.testing import tiny_dataset


class Fake(Model):
    """Scores from what one says."""

    def __init__(self, of) -> None:
        self.of = of

    def scores(self, documents):
        return self.of(documents)

    def step(self, documents, ascent) -> None: ...

    def state(self):
        return {}

    def load_state(self, state) -> None: ...


def refuses(documents: Documents):
    if documents.production is None:
        raise DataError("no scores of production")
    return documents.production + documents.features[:, 0]


@pytest.mark.parametrize(
    ("scores", "production", "own"),
    [
        (lambda d: d.features[:, 0].astype(float), False, False),
        (refuses, True, False),
        (lambda d: d.features[:, 0] + (0 if d.production is None else d.production), True, False),
        (lambda d: d.rows * 1.0, False, True),
    ],
)
def test_inputs_are_found_by_taking_them_away(scores, production, own):
    data = tiny_dataset(12)
    data = replace(data, production=np.arange(data.n_documents) * 0.5)
    model = Fake(scores)
    found = Inputs.of(model, data, Sample.of(model, data))
    assert (found.production, found.own_documents) == (production, own)


def test_inputs_are_read_as_they_were_written():
    scale = np.array([0.1, np.inf])
    one = Inputs(2, 5, ("a", "b"), Normalization("z-score", np.array([1 / 3, 0]), scale), data="f")
    again = Inputs.parse(finite(one.plain()))
    assert again.plain() == one.plain()
    assert np.array_equal(again.normalization.scale, scale)


def test_a_sample_is_whole_lists_with_their_scores():
    data = tiny_dataset(12)
    model = Fake(lambda d: d.features[:, 0].astype(float))
    sample = Sample.of(model, data)
    last = len(sample.documents.offsets) - 1
    assert np.array_equal(sample.documents.offsets, data.offsets[: last + 1])
    assert np.array_equal(sample.scores, data.features[: data.offsets[last], 0])
    again = Sample.parse(sample.arrays())
    assert np.array_equal(again.scores, sample.scores)
