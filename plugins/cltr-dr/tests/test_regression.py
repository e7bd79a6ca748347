"""Guards the regression: targets of the three losses, recovery, determinism, odd logs."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from cltr.clicks.models import PositionBased, TrustBias
from cltr.errors import OptionError, UnsupportedError
from cltr.interfaces import ClickModel
from cltr.types import ClickData, ClickStatistics, Dataset
from cltr_dr import DM, DR, regression
from cltr_dr.examples import Counts, Moments
from cltr_dr.regression import Regression
from cltr_dr.targets import make_targets
from tests import enumeration

TOP_K = 3
MODEL = TrustBias()
AFFINE = MODEL.affine(TOP_K)


def world(*, n_queries=60, displays=200, model=MODEL, seed=0, n_features=4):
    """Lists of five documents whose relevance is a smooth function of the first two features."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5 * n_queries, n_features)).astype(np.float32)
    if n_features:
        relevance = 1 / (1 + np.exp(-1.5 * features[:, 0] - features[:, 1] * features[:, 0]))
    else:
        relevance = np.full(len(features), 0.3)
    ranks = np.concatenate(
        [enumeration.rank_distribution(rng.normal(size=5), TOP_K) for _ in range(n_queries)]
    )
    affine = model.affine(TOP_K)
    impressions = rng.binomial(displays, ranks)
    clicks = rng.binomial(impressions, relevance[:, None] * affine.examination + affine.trust)
    offsets = np.arange(n_queries + 1) * 5
    judged = Dataset(
        features, 4 * relevance, offsets, np.arange(n_queries), np.arange(len(features))
    )
    statistics = ClickStatistics(impressions, clicks, np.full(n_queries, displays), offsets)
    return ClickData(judged, statistics, enumeration.exposure_of(ranks, affine, np.ones(TOP_K)))


def fitted(data, *, model=MODEL, seed=0, **options):
    reward = DM(**options)
    reward.fit(data, model, seed=seed)
    return reward


def error(reward, data):
    return float(np.mean((reward.mu(data) - data.dataset.relevance) ** 2))


def test_paper_targets_are_those_of_dr22_eq_45():
    impressions, clicks = np.array([[2.0, 0.0, 3.0]]), np.array([[1.0, 0.0, 2.0]])
    (a1, _, a3), (b1, _, b3) = AFFINE
    made = make_targets(
        "paper",
        impressions=impressions,
        clicks=clicks,
        affine=AFFINE,
        inverse_propensities=np.array([4.0]),
    )
    assert made.hits.item() == pytest.approx(4 * (3 - 2 * b1 - 3 * b3))
    assert made.misses.item() == pytest.approx(4 * (2 * (a1 + b1) + 3 * (a3 + b3) - 3))
    assert (made.slope.tolist(), made.offset.tolist()) == ([1.0], [0.0])


def test_clamped_targets_have_no_negative_weights():
    shown = {
        "impressions": np.array([[1.0, 0, 0]] * 2),
        "clicks": np.array([[0.0, 0, 0], [1, 0, 0]]),
    }
    paper, clamped = (
        make_targets(loss, affine=AFFINE, inverse_propensities=np.ones(2), **shown)
        for loss in ("paper", "clamped")
    )
    assert paper.hits[0, 0] == pytest.approx(-0.65)
    assert clamped.hits[0, 0] == 0
    assert clamped.hits[1, 0] == paper.hits[1, 0] == pytest.approx(0.35)


@pytest.mark.parametrize("loss", ["clicks", "paper"])
def test_the_expected_loss_is_least_at_the_truth(loss):
    """For one document at a time: the minimum over a grid of R is the relevance itself."""
    grid = np.linspace(0.005, 0.995, 199)
    for relevance in (0.1, 0.45, 0.8):
        ranks = enumeration.rank_distribution(np.array([0.3, -0.2, 0.5, 1.0]), TOP_K)
        statistics = enumeration.expected_statistics(ranks, np.full(4, relevance), AFFINE)
        hits, misses, slope, offset = make_targets(
            loss,
            impressions=statistics.impressions,
            clicks=statistics.clicks,
            affine=AFFINE,
            inverse_propensities=1 / (ranks @ AFFINE.examination),
        )
        click = grid[:, None, None] * slope + offset
        losses = -(hits * np.log(click) + misses * np.log(1 - click)).sum((1, 2))
        assert grid[losses.argmin()] == pytest.approx(relevance, abs=1e-9)


@pytest.mark.parametrize("loss", ["clicks", "paper", "clamped"])
def test_it_learns_relevance_from_clicks(loss):
    data = world()
    reward = fitted(data, loss=loss)
    constant = float(np.var(data.dataset.relevance))
    assert error(reward, data) < constant / 4
    assert error(reward, world(seed=1)) < constant / 3  # lists that it has not seen
    assert ((reward.mu(data) > 0) & (reward.mu(data) < 1)).all()


def test_the_likelihood_beats_clamping_with_few_displays():
    errors = {
        loss: np.mean(
            [error(fitted(world(displays=2, seed=s), loss=loss), world(seed=s)) for s in range(3)]
        )
        for loss in ("clicks", "clamped")
    }
    assert errors["clicks"] < errors["clamped"]


@pytest.mark.slow
def test_the_readme_says_which_loss_is_best_on_the_demo():
    path = Path(__file__).parents[1] / "compare_losses.py"
    spec = importlib.util.spec_from_file_location("compare_losses", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    table = script.compare(("clicks", "paper", "clamped"), (10**4,), range(2))
    (bias, _, exposed, _, _), paper, clamped = table.values()
    assert abs(bias) < 0.02
    assert clamped[0] > 0.05
    assert exposed < min(paper[2], clamped[2])


def test_position_bias_without_trust():
    model = PositionBased()
    data = world(model=model)
    assert error(fitted(data, model=model), data) < np.var(data.dataset.relevance) / 4


def test_same_seed_same_numbers_and_another_seed_others():
    import torch

    data = world(displays=20)
    first = fitted(data, seed=3, epochs=5).mu(data)
    torch.rand(1)  # what others draw in between must not matter
    again, other = (fitted(data, seed=seed, epochs=5).mu(data) for seed in (3, 4))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_fit_leaves_the_state_of_torch_alone(threads):
    import torch

    given = torch.get_num_threads()
    torch.manual_seed(0)
    before = torch.rand(1)
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    try:
        fitted(world(displays=5), epochs=2)
        assert torch.rand(1) == before
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(given)


def test_the_arrays_predict_what_the_module_would():
    import torch

    reward = fitted(world(displays=20), epochs=3)
    features = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    fit = reward.regression
    mean, scale = fit.moments
    values = torch.as_tensor(((features - mean) / scale).clip(-5, 5))
    for i, (weights, bias) in enumerate(fit.layers):
        values = torch.nn.functional.linear(values, torch.as_tensor(weights), torch.as_tensor(bias))
        values = values if i == len(fit.layers) - 1 else torch.relu(values)
    expected = torch.sigmoid(values).squeeze(-1).numpy()
    assert fit(features) == pytest.approx(expected, abs=1e-6)


def test_the_best_held_out_weights_are_kept():
    """Long training on few clicks overfits; what is returned must not."""
    data, truth = world(displays=2), world(seed=0)
    stopped = fitted(data, epochs=200, weight_decay=0.0)
    overfit = fitted(data, epochs=200, weight_decay=0.0, patience=200, held_out=0.001)
    assert error(stopped, truth) < error(overfit, truth)


@pytest.mark.parametrize("start", [0.9, -0.9])  # the published loss may be negative
@pytest.mark.parametrize(("passes", "asked_for"), [(6, 6), (0, 4), (2, 5)])
def test_after_many_steps_a_fit_stops_where_it_hardly_gains(passes, asked_for, start, monkeypatch):
    """All gains count in the first passes, then only those of 0.1%; three more passes are made."""
    asked, losses = [], [start - 1e-4 * step for step in range(6)]

    def epochs(self, parameters):
        steps = -(-len(self.kept.rows) // self.options.batch)
        monkeypatch.setattr(regression, "MANY_STEPS", passes * steps)
        for loss in losses:
            asked.append(loss)
            yield loss, ((np.full((1, 1), loss, np.float32), np.zeros(1, np.float32)),)

    monkeypatch.setattr(regression._Fit, "_epochs", epochs)
    monkeypatch.setattr(regression._Fit, "_judge", lambda self, layers: 1.0)
    found = fitted(world(displays=5), batch=8, patience=3).regression
    assert asked == losses[:asked_for]
    assert found.layers[0][0].item() == pytest.approx(min(asked))


def test_a_log_without_clicks_or_displays_gives_a_constant():
    data = world(displays=20)
    nothing = np.zeros_like(data.statistics.impressions)
    empty = ClickStatistics(nothing, nothing, np.zeros(60, np.int64), data.statistics.offsets)
    made = fitted(ClickData(data.dataset, empty, data.exposure), epochs=3).mu(data)
    assert np.ptp(made) < 0.5
    assert np.isfinite(made).all()


def test_a_log_without_features_learns_the_overall_relevance():
    data = world(n_features=0, displays=500)
    made = fitted(data).mu(data)
    assert np.ptp(made) == 0
    assert made[0] == pytest.approx(0.3, abs=0.02)


def test_constant_and_outlying_features_do_no_harm():
    data = world()
    features = np.concatenate([data.dataset.features, np.full((300, 1), 7e6, np.float32)], axis=1)
    features[0, 2] = 1e9
    odd = ClickData(
        Dataset(
            features,
            data.dataset.labels,
            data.dataset.offsets,
            data.dataset.query_ids,
            data.dataset.document_ids,
        ),
        data.statistics,
        data.exposure,
    )
    assert error(fitted(odd), odd) < np.var(data.dataset.relevance) / 4


def test_beyond_five_deviations_a_feature_counts_no_further():
    reward = fitted(world(displays=20), epochs=2)
    far, further = (np.full((1, 4), value, np.float32) for value in (1e3, 1e6))
    assert reward.regression(far) == reward.regression(further)


def test_predictions_do_not_depend_on_how_documents_are_chunked(monkeypatch):
    reward = fitted(world(displays=20), epochs=2)
    features = world().dataset.features
    whole = reward.regression(features)
    monkeypatch.setattr("cltr_dr.regression.ROWS_AT_ONCE", 7)
    assert reward.regression(features) == pytest.approx(whole, abs=1e-6)
    assert reward.regression(features[:0]).tolist() == []


def test_a_click_model_that_is_not_affine_is_refused():
    class Odd(ClickModel):
        name = "odd"

        def probabilities(self, relevance, context):
            return relevance**2

    with pytest.raises(UnsupportedError, match="'odd' gives no examination"):
        DR().fit(world(displays=2), Odd())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, r"dr\.loss is 'hinge'"),
        ({"held_out": 0}, r"dr\.held_out is 0"),
        ({"layers": 3}, r"no option 'dr\.layers'"),
    ],
)
def test_wrong_options_are_one_line(options, message):
    with pytest.raises(OptionError, match=message):
        DR(**options)


def test_a_regression_is_plain_arrays():
    reward = fitted(world(displays=2), epochs=1)
    assert isinstance(reward.regression, Regression)
    assert all(type(part) is np.ndarray for layer in reward.regression.layers for part in layer)


def test_reading_features_by_batch_gives_the_same_bits(monkeypatch):
    data = world(displays=20)
    gathered = fitted(data, epochs=5).mu(data)
    monkeypatch.setattr("cltr_dr.examples.GATHERED_BYTES", 0)
    assert np.array_equal(fitted(data, epochs=5).mu(data), gathered)


@pytest.mark.parametrize("patience", [1, 50])
def test_gathering_and_judging_in_other_threads_give_the_same_bits(patience, monkeypatch):
    import torch

    monkeypatch.setattr("cltr_dr.examples.ROWS_AHEAD", 64)
    data, found = world(displays=3), []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            options = {"epochs": 30, "patience": patience, "learning_rate": 0.02, "batch": 32}
            found.append(fitted(data, **options).mu(data))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*found)


def test_predictions_have_the_same_bits_for_any_number_of_threads():
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    layers = tuple(
        (rng.normal(size=(wide, deep)).astype(np.float32), np.zeros(wide, np.float32))
        for deep, wide in ((46, 64), (64, 32), (32, 1))
    )
    moments = Moments(np.zeros(46, np.float32), np.full(46, 5.0, np.float32))
    features, found = rng.normal(size=(9_000, 46)).astype(np.float32), []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(Regression(moments, layers)(features))
    assert np.array_equal(*found)


@pytest.mark.parametrize("options", [{}, {"hidden": ()}, {"hidden": (20, 14), "batch": 77}])
@pytest.mark.parametrize("loss_name", ["clicks", "paper", "clamped"])
def test_a_fit_has_the_bits_of_one_by_autograd(loss_name, options, monkeypatch):
    """With torch's products; with the fast ones it is nearly the same."""
    import torch

    from cltr.training.products import TORCH
    from cltr_dr import loss

    def by_autograd(self, parameters, optimizer):
        order = self.rng.permutation(len(self.kept.rows))
        batches = self.kept.batches(self.inputs, self.options.batch, order, ahead=False)
        first, *others = regression.layers_of(parameters)
        for inputs, targets in batches:
            values = torch.nn.functional.linear(inputs, *first)
            for layer in others:
                values = torch.nn.functional.linear(torch.relu(values), *layer)
            optimizer.clear()
            loss.loss(values.squeeze(-1), targets).backward()
            optimizer.step()

    data = world(displays=6, n_features=30)
    given = {"loss": loss_name, "epochs": 4, **options}
    fast = fitted(data, **given).mu(data)
    monkeypatch.setattr(regression, "chosen_products", lambda: TORCH)
    found = fitted(data, **given).mu(data)
    np.testing.assert_allclose(fast, found, rtol=1e-3)
    monkeypatch.setattr(regression._Fit, "_epoch", by_autograd)
    assert np.array_equal(found, fitted(data, **given).mu(data))


def test_weights_start_as_those_of_torch(monkeypatch):
    import torch

    monkeypatch.setattr(regression._Fit, "_judge", lambda self, layers: 0.0)
    found = fitted(world(displays=2, n_features=6), hidden=(9, 5), seed=7, epochs=0)
    torch.manual_seed(7)
    layers = [torch.nn.Linear(*two) for two in ((6, 9), (9, 5), (5, 1))]
    for (weights, bias), layer in zip(found.regression.layers, layers, strict=True):
        assert np.array_equal(weights, layer.weight.detach().numpy())
        if layer is not layers[-1]:  # that bias is a typical display's
            assert np.array_equal(bias, layer.bias.detach().numpy())


def test_slopes_are_flat_where_a_probability_is_cut():
    import torch

    from cltr_dr.loss import BatchTargets, loss, slopes

    logits = torch.tensor([-60.0, 60.0, 0.3, -2.0], requires_grad=True)
    hits, misses = torch.rand(4, 2), torch.rand(4, 2)
    targets = BatchTargets(hits, misses, torch.tensor([1.0, 0.6]), torch.tensor([0.0, 0.4]))
    loss(logits, targets).backward()
    found = slopes(logits.detach(), targets)
    assert torch.equal(found, logits.grad)
    assert found[:2].abs().max() < 1e-20
    assert found[2:].abs().min() > 1e-3


def test_clicks_are_held_out_as_if_all_documents_were_drawn_for():
    statistics = world(displays=1, n_queries=200).statistics
    assert not statistics.impressions.any(-1).all()
    kept, held = Counts.displayed(statistics).split(0.15, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    clicks = rng.binomial(statistics.clicks, 0.15)
    shown = clicks + rng.binomial(statistics.impressions - statistics.clicks, 0.15)
    assert np.array_equal(held.clicks, clicks[held.rows])
    assert np.array_equal(held.impressions, shown[held.rows])
    assert np.array_equal(kept.impressions, (statistics.impressions - shown)[kept.rows])
    assert np.array_equal(kept.clicks, (statistics.clicks - clicks)[kept.rows])
    assert shown.sum() == held.impressions.sum()


@pytest.mark.parametrize(("most", "kind"), [(32767, np.int16), (65534, np.int64)])
def test_parts_of_counts_add_up_to_them_in_few_bits(most, kind):
    shown = np.array([[most, 1], [0, 0], [3, 0]])
    statistics = ClickStatistics(shown, shown // 2, np.array([most]), np.array([0, 3]))
    counts = Counts.displayed(statistics)
    kept, held = counts.split(0.9, np.random.default_rng(0))
    assert held.impressions.dtype == kind
    assert (kept.impressions + held.impressions).tolist() == [[most, 1], [3, 0]]
    assert (kept.clicks + held.clicks).tolist() == [[most // 2, 0], [1, 0]]
    for part in (kept, held):
        assert (part.clicks >= 0).all()
        assert (part.clicks <= part.impressions).all()
