"""Guards scorers: shapes, seeds, and a table whose scores are those of the right documents."""

import numpy as np
import pytest
import torch

from cltr.testing import check_scorer, tiny_dataset
from cltr.training.score_documents import score
from cltr.training.scorers import Linear, Mlp, TableScorer

DATA = tiny_dataset(20)


@pytest.mark.parametrize(
    "scorer", [Mlp(), Mlp(hidden=()), Linear(), TableScorer(), TableScorer(rate=1.0)]
)
def test_scorers_conform(scorer):
    check_scorer(scorer)


def test_a_table_takes_scores_as_they_are():
    scorer, scores = TableScorer(rate=7.0), np.random.default_rng(0).normal(size=DATA.n_documents)
    module = scorer.build(0, DATA.n_documents)
    assert scorer.copy_scores(module, scores)
    np.testing.assert_allclose(score(module, DATA), scores, rtol=1e-12)


def test_a_table_knows_documents_by_their_row_in_the_whole_data_set():
    scorer, scores = TableScorer(), np.arange(DATA.n_documents, dtype=np.float64)
    module = scorer.build(0, DATA.n_documents)
    scorer.copy_scores(module, scores)
    for split in DATA.splits:
        np.testing.assert_allclose(
            score(module, DATA.part(split)), scores[DATA.documents_of(split)]
        )
    inner = DATA.part("valid").queries(1, 3)
    np.testing.assert_allclose(score(module, inner)[0], inner.first_document)


def test_a_step_moves_a_score_by_the_rate():
    module = TableScorer(rate=30.0).build(0, 3)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
    (-module(torch.zeros(2, 0), torch.tensor([0, 2])).sum()).backward()
    optimizer.step()
    moved = module(torch.zeros(3, 0), torch.arange(3)).detach().numpy()
    np.testing.assert_allclose(moved, [0.03, 0.0, 0.03], rtol=1e-3)


def test_networks_cannot_copy_scores():
    assert not Mlp().copy_scores(Mlp().build(6, 3), np.zeros(3))
