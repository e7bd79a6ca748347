"""Guards scorers: shapes, seeds, and a table whose scores are those of the right documents."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.documents import Documents, ModelSetup
from cltr.testing import check_scorer, tiny_dataset
from cltr.training.score_documents import score
from cltr.training.scorers import Linear, Mlp, TableScorer

DATA = tiny_dataset(20)
SETUP = ModelSetup(DATA.n_features, DATA.n_documents)


def started(scorer, scores):
    """A model that starts from these scores on all documents."""
    model = scorer.build(SETUP, seed=0)
    documents = Documents.of(replace(DATA, production=scores))
    model.start_from(documents, np.ones(DATA.n_queries, bool))
    return model


@pytest.mark.parametrize(
    "scorer", [Mlp(), Mlp(hidden=()), Linear(), TableScorer(), TableScorer(rate=1.0)]
)
def test_scorers_conform(scorer):
    check_scorer(scorer)


def test_a_table_takes_scores_as_they_are():
    scores = np.random.default_rng(0).normal(size=DATA.n_documents)
    np.testing.assert_allclose(score(started(TableScorer(rate=7.0), scores), DATA), scores)


def test_a_table_knows_documents_by_their_row_in_the_whole_data_set():
    scores = np.arange(DATA.n_documents, dtype=np.float64)
    model = started(TableScorer(), scores)
    for split in DATA.splits:
        np.testing.assert_allclose(score(model, DATA.part(split)), scores[DATA.documents_of(split)])
    inner = DATA.part("valid").queries(1, 3)
    np.testing.assert_allclose(score(model, inner)[0], inner.first_document)


def test_a_step_moves_a_score_by_the_rate():
    model = TableScorer(rate=30.0).build(SETUP, seed=0)
    documents = Documents.of(DATA).lists(1, 3)
    model.step(documents, np.ones_like)
    expected = np.zeros(DATA.n_documents)
    expected[documents.rows] = 0.03
    np.testing.assert_allclose(score(model, DATA), expected, rtol=1e-3)


def test_slopes_next_to_nothing_count_as_none():
    documents = Documents.of(DATA).lists(1, 3)
    ones = np.ones(len(documents))
    small, none = (Mlp().build(SETUP, seed=0) for _ in range(2))
    small.step(documents, lambda scores: np.where(np.arange(len(scores)) % 2, 1e-26, ones))
    none.step(documents, lambda scores: np.where(np.arange(len(scores)) % 2, 0.0, ones))
    for name, array in none.training_state().items():
        np.testing.assert_array_equal(small.training_state()[name], array)
    still = Mlp().build(SETUP, seed=0)
    still.step(documents, lambda scores: -1e-26 * ones)
    assert not any(state.any() for name, state in still.training_state().items() if "/mean" in name)


def test_a_network_starts_at_the_scores_that_it_is_given():
    scores = DATA.features[:, 0].astype(np.float64)
    found = score(started(Mlp(), scores), replace(DATA, production=scores))
    np.testing.assert_array_equal(found, scores)


def test_a_state_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="is 1x3 of float32; expected 1x6"):
        Linear().build(SETUP, seed=0).load_state(Linear().build(ModelSetup(3, 5), seed=0).state())
