"""Guards: what budget serves keeps the budget, with rankings of its own or by mixing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr import testing
from cltr.clicks.models import TrustBias
from cltr.errors import OptionError, UnsupportedError
from cltr.interfaces import EstimatorContext, QueryTask
from cltr.objectives.budget import Budget
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.types import Lists

LISTS = Lists.of_offsets(np.array([0, 4, 4, 5, 11]))
DCG = rank_weights("dcg", 5)
TRAFFIC = np.array([0.5, 0.0, 0.1, 0.4])
scores = st.lists(st.floats(-8, 8), min_size=11, max_size=11).map(np.array)
budgets = st.sampled_from([0.0, 0.01, 0.05, 0.4])


def weights_of(values):
    return PlackettLuce().expected_weights(values, LISTS, DCG)


def context(**values) -> EstimatorContext:
    return replace(EstimatorContext(1000, DCG, "dcg", TrustBias()), **values)


def task(budget: Budget, rewards, production, *, each: bool) -> QueryTask:
    return QueryTask(budget, rewards, production, LISTS, DCG, TRAFFIC, each)


@given(scores, scores, budgets)
def test_law_the_mixture_keeps_the_budget_on_every_query(new, old, loss):
    weights, production = weights_of(new), weights_of(old)
    share = np.repeat(Budget(loss=loss).served_share(weights, production, LISTS), LISTS.lengths)
    mixed = (1 - share) * production + share * weights
    assert ndcg_losses(mixed, production, LISTS, DCG).max() <= loss + 1e-15


@given(scores, scores, budgets, st.booleans())
def test_law_policies_of_single_queries_keep_the_budget(rewards, old, loss, each):
    budget = Budget(loss=loss, loss_per_query=0.3)
    production = weights_of(old)
    given_task = task(budget, rewards, production, each=each)
    weights = budget.query_weights(given_task)
    losses = ndcg_losses(weights, production, LISTS, DCG)
    assert losses.max() <= min(0.3, loss if each else 1.0) + 1e-12
    assert TRAFFIC @ losses <= loss + 1e-12
    assert rewards @ weights >= rewards @ production - 1e-9
    assert budget.kept(production, given_task)


def test_what_loses_more_is_not_kept():
    budget = Budget(loss=0.1)
    production = weights_of(np.linspace(3, -3, 11))
    reversed_weights = weights_of(np.linspace(-3, 3, 11))
    for each in (False, True):
        given_task = task(budget, -production, production, each=each)
        assert not budget.kept(reversed_weights, given_task)
        assert budget.kept(budget.query_weights(given_task), given_task)
    one_query = np.where(np.arange(11) < 4, reversed_weights, production)
    assert not Budget(loss=1.0, loss_per_query=0.01).kept(
        one_query, task(budget, production, production, each=False)
    )


def test_in_doubt_no_query_loses_more_than_a_narrow_band_allows():
    budget = Budget(loss=0.5)
    budget.prepare(context(narrow=True))
    assert (budget.loss, budget.loss_per_query) == pytest.approx((0.2, 0.2))
    budget.prepare(context())
    assert (budget.loss, budget.loss_per_query) == (0.5, 1.0)


@pytest.mark.parametrize(("given_loss", "loss"), [("2%", 0.02), (0.02, 0.02), ("0.5", 0.5), (1, 1)])
def test_a_loss_may_be_a_percentage(given_loss, loss):
    assert Budget(loss=given_loss).options.loss == pytest.approx(loss)


@pytest.mark.parametrize("wrong", [2, "120%", -0.1, "two", "nan"])
def test_a_loss_is_a_share(wrong):
    with pytest.raises(OptionError, match=r"budget\.loss is"):
        Budget(loss=wrong)


def test_another_metric_is_refused():
    with pytest.raises(UnsupportedError, match="not 'clicks'; leave out --metric"):
        Budget().prepare(context(metric="clicks"))


def test_conforms():
    testing.check_estimator(Budget(loss="5%"))
