"""Guards the embedded data: its shape, and that there is something to learn beyond linear."""

from itertools import pairwise

import numpy as np
import pytest

from cltr.data.demo import GRADE_SHARES, LONGEST, N_QUERIES, demo_dataset
from cltr.policies import PlackettLuce
from cltr.types import Lists

RANK_WEIGHTS = 1 / np.log2(np.arange(5) + 2)


@pytest.fixture(scope="module")
def data():
    return demo_dataset()


def test_same_numbers_every_time(data):
    again = demo_dataset()
    assert np.array_equal(data.features, again.features)
    assert np.array_equal(data.labels, again.labels)
    assert data.fingerprint == again.fingerprint != ""


def test_splits_cover_all_queries_in_order(data):
    ends = np.cumsum(list(N_QUERIES.values())).tolist()
    assert [last for _, last in data.splits.values()] == ends
    assert [first for first, _ in data.splits.values()] == [0, *ends[:-1]]
    assert data.n_queries == ends[-1]


def test_lists_vary_and_some_are_shorter_than_the_display(data):
    lengths = np.diff(data.offsets)
    assert lengths.min() >= 2
    assert 0.03 < np.mean(lengths < 5) < 0.2
    assert 30 < lengths.max() <= LONGEST


def test_grades_are_skewed(data):
    shares = np.bincount(data.labels.astype(int), minlength=5) / data.n_documents
    assert np.allclose(shares, GRADE_SHARES, atol=0.001)


def test_features_are_on_a_sane_scale(data):
    assert data.features.dtype == np.float32
    assert np.abs(data.features.mean(0)).max() < 0.2
    assert np.abs(data.features.std(0) - 1).max() < 0.2


def test_ids_are_unique_text(data):
    assert len(np.unique(data.query_ids)) == data.n_queries
    assert len(np.unique(data.document_ids)) == data.n_documents
    assert isinstance(data.query_ids[0], str)


@pytest.mark.slow
def test_skyline_beats_production_and_mlp_beats_linear(data):
    train, test = data.part("train"), data.part("test")
    production = _trained(train.queries(0, 12), hidden=(150, 75), epochs=20)
    linear = _trained(train, hidden=(), epochs=20)
    skyline = _trained(train, hidden=(150, 75), epochs=20)
    assert _ndcg(skyline, test) > _ndcg(production, test) + 0.08
    assert _ndcg(skyline, test) > _ndcg(linear, test) + 0.04


def _trained(data, *, hidden, epochs):
    import torch

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    widths = [data.n_features, *hidden]
    layers = [
        part
        for n_in, n_out in pairwise(widths)
        for part in (torch.nn.Linear(n_in, n_out), torch.nn.ReLU())
    ]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(data.n_queries), -(-data.n_queries // 32)):
            lists = Lists(data.lists.starts[batch], data.lists.lengths[batch])
            rows = np.concatenate([np.arange(s, s + n) for s, n in zip(*lists, strict=True)])
            ends = np.concatenate([[0], np.cumsum(lists.lengths)])
            scores = model(torch.as_tensor(data.features[rows]))[:, 0]
            slopes = PlackettLuce().gradient(
                scores.detach().double().numpy(),
                data.relevance[rows],
                Lists.of_offsets(ends),
                RANK_WEIGHTS,
            )
            optimizer.zero_grad()
            scores.backward(torch.as_tensor(-slopes / len(batch)).float())
            optimizer.step()
    return model


def _ndcg(model, data):
    import torch

    with torch.no_grad():
        scores = model(torch.as_tensor(data.features))[:, 0].double().numpy()
    weights = PlackettLuce().expected_weights(scores, data.lists, RANK_WEIGHTS)
    best = PlackettLuce().expected_weights(50 * data.labels, data.lists, RANK_WEIGHTS)
    gained = np.add.reduceat(weights * data.labels, data.offsets[:-1])
    ideal = np.add.reduceat(best * data.labels, data.offsets[:-1])
    return float(np.mean(gained / np.maximum(ideal, 1e-9)))
