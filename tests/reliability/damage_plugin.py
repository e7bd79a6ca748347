"""Plugins whose methods return what they must not."""

from random import Random

GOOD = """
import numpy as np
from cltr import ClickModel, Estimator, Ranker, RewardFunction, hookimpl
from cltr.interfaces import Model, Scorer
from cltr.policies import PlackettLuce


class R(RewardFunction):
    name = "mine"
    def mu(self, data, *, propensity_clip=0.0):
        good = np.full(data.dataset.n_documents, 0.1)
        return good  # mu


class E(Estimator):
    name = "mine"
    def gain(self, weights, logging_weights, rewards):
        good = weights * rewards
        return good  # gain


class G(Ranker):
    name = "mine"
    policy = PlackettLuce()
    def gradient(self, batch, objective, rng):
        good = np.zeros_like(batch.scores)
        return good  # gradient


class C(ClickModel):
    name = "mine"
    def probabilities(self, relevance, context):
        good = np.where(np.isnan(relevance), 0.0, 0.5)
        return good  # probabilities


class M(Model):
    def scores(self, documents):
        good = np.zeros(len(documents))
        return good  # scores
    def step(self, documents, ascent):
        good = None
        return good  # step
    def state(self):
        good = {}
        return good  # state
    def load_state(self, state): pass
    def start_from(self, documents, queries): pass


class S(Scorer):
    name = "mine"
    def build(self, setup, *, seed):
        good = M()
        return good  # build


@hookimpl
def cltr_rewards(): return [R]
@hookimpl
def cltr_estimators(): return [E]
@hookimpl
def cltr_rankers(): return [G]
@hookimpl
def cltr_click_models(): return [C]
@hookimpl
def cltr_scorers(): return [S]
"""
PLACES = ("mu", "gain", "gradient", "probabilities", "scores", "step", "state", "build")
ODD = (
    *("None", "np.nan", "good * np.nan", "good[:-1]", "good.tolist()", "good.astype('f4')"),
    *("good.astype(object)", "'text'", "1 / 0", "good[None]", "good + 1e308", "good - 1e308"),
    *("np.full(1000, 0.5)", "iter([])", "(lambda: 0)", "good * 1j", "-good - 5", "undefined"),
    *("{'a': 1}", "[]", "()", "True", "b'x'", "good[..., None]", "np.zeros((0, 3))", "object"),
    *("[][0]", "{}['a']", "np.array('x')", "good.astype('i8')", "np.ma.masked_all(3)", "self"),
    *("good.astype('f8')[::-1][::-1]", "np.inf + good", "float('inf')", "range(3)", "2**70"),
)


def damage_plugin(rng: Random, content: bytes) -> bytes:
    """Another value returned in one or two places."""
    text = content.decode()
    for _ in range(rng.choice((1, 1, 1, 2))):
        place = rng.choice(PLACES)
        text = text.replace(f"return good  # {place}", f"return {rng.choice(ODD)}  # {place}")
    return text.encode()
