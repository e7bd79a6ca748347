"""Guards what a run leaves for those who use its model."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.data.normalization import Normalization
from cltr.documents import Documents
from cltr.errors import DataError
from cltr.experiment.experiment import Experiment
from cltr.experiment.hand_over import Inputs, Sample
from cltr.experiment.initial_model import new_model
from cltr.experiment.serving_rules import serving_rule
from cltr.files.storage import finite
from cltr.interfaces import Model
from cltr.testing import tiny_dataset
from tests import small


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


def test_an_enforced_bound_has_a_share_for_each_query():
    config = small.config(estimator={"name": "band", "clip": 0.9}, training={"epochs": 5})
    experiment = Experiment.simulated(config, dataset=tiny_dataset(24))
    model = new_model(experiment.components.scorer, experiment.dataset, seed=5)
    experiment.prepare(2000, 10)
    rule = serving_rule(experiment, model, share=0.5)
    served = experiment.serve(model)
    assert (rule.share, rule.new, rule.production, rule.top_k) == (0.0, "sampled", "sampled", 5)
    for part in served.values():
        ids = part.dataset.query_ids.tolist()
        assert [rule.shares[one] for one in ids] == (0.5 * part.share).tolist()
    assert 0 < min(rule.shares.values()) < 0.5


def test_other_estimators_have_the_share_of_the_verdict():
    experiment = Experiment.simulated(small.config(), dataset=tiny_dataset(24))
    model = new_model(experiment.components.scorer, experiment.dataset, seed=5)
    rule = serving_rule(experiment, model, share=0.04)
    assert (rule.share, dict(rule.shares)) == (0.04, {})
