"""Guards the seam: every faulty plugin ends with exit code 1 and one line that names it."""

import re
import textwrap

import numpy as np
import pytest

from cltr.data.dataset_file import save_dataset
from cltr.plugins import registry
from tests import small
from tests.strangers import Site

HEAD = """
import numpy as np
from cltr import ClickModel, Estimator, Ranker, RewardFunction, hookimpl
from cltr.interfaces import Model, Penalised, Scorer
from cltr.policies import PlackettLuce
from cltr.types import Affine
"""


def plugin(contract: str, hook: str, body: str) -> str:
    """A module with one component, ``mine``, of the given body."""
    inner = textwrap.indent(textwrap.dedent(body), "    ")
    head = f"{HEAD}\nclass Mine({contract}):\n    name = 'mine'\n{inner}\n"
    return head + f"\n@hookimpl\ndef {hook}():\n    return [Mine]\n"


def reward(result: str) -> str:
    code = "def mu(self, data, *, propensity_clip=0.0):\n    n = data.dataset.n_documents\n"
    return plugin("RewardFunction", "cltr_rewards", code + f"    return {result}")


def estimator(body: str, contract: str = "Estimator") -> str:
    return plugin(contract, "cltr_estimators", body)


GAIN = "def gain(self, weights, logging_weights, rewards):\n    return "
PENALTY = f"""
{GAIN}weights * rewards
def divergence(self, weights, exposure): return weights * 0.0
def penalty(self, mean_divergence): return {{penalty}}
def penalty_slope(self, mean_divergence): return {{slope}}
"""


def ranker(result: str, policy: str = "policy = PlackettLuce()") -> str:
    code = f"{policy}\ndef gradient(self, batch, objective, rng):\n    return {result}\n"
    return plugin("Ranker", "cltr_rankers", code)


def click_model(result: str, more: str = "") -> str:
    code = f"def probabilities(self, relevance, context):\n    return {result}\n{more}\n"
    return plugin("ClickModel", "cltr_click_models", code)


def scorer(scores: str = "np.zeros(len(documents))", step: str = "pass", build: str = "M()") -> str:
    model = f"""
class M(Model):
    def scores(self, documents): return {scores}
    def step(self, documents, ascent): {step}
    def state(self): return {{}}
    def load_state(self, state): pass
    def start_from(self, documents, queries): pass
"""
    return plugin(
        "Scorer", "cltr_scorers", f"def build(self, setup, *, seed): return {build}"
    ).replace("\nclass Mine", f"{model}\nclass Mine")


AFFINE = "def affine(self, top_k): return {}"
ONES = "np.where(np.isnan(relevance), 0.0, 0.5)"
FAULTS = {
    "mu one short": (reward("np.zeros(n - 1)"), "reward", r"mu must be [\d,]+ finite numbers, got"),
    "mu NaN": (reward("np.full(n, np.nan)"), "reward", "mu must be .* that are not finite"),
    "mu None": (reward("None"), "reward", "mu must be .* finite numbers, got None"),
    "mu a list": (reward("[0.0] * n"), "reward", "mu must be .* finite numbers, got list"),
    "mu float32": (
        reward("np.zeros(n, np.float32)"),
        "reward",
        "mu must be .* got float32; use float64",
    ),
    "mu raises": (reward("1 / 0"), "reward", "mu failed: ZeroDivisionError: division by zero"),
    "gain NaN": (
        estimator(GAIN + "weights * np.nan"),
        "estimator",
        "(gain|slope) must be .* not finite",
    ),
    "gain a sum": (estimator(GAIN + "(weights * rewards).sum()"), "estimator", "gain must be"),
    "gain by numpy alone": (
        estimator(GAIN + "rewards * np.log(weights + 1)"),
        "estimator",
        "gain failed: it gives a torch tensor to a numpy function.* or define slope$",
    ),
    "gain raises": (estimator(GAIN + "weights @ 'x'"), "estimator", "gain failed: "),
    "penalty NaN": (
        estimator(PENALTY.format(penalty="float('nan')", slope="0.0"), "Penalised"),
        "estimator",
        "penalty must be one finite number, got nan",
    ),
    "penalty slope None": (
        estimator(PENALTY.format(penalty="0.0", slope="None"), "Penalised"),
        "estimator",
        "penalty_slope must be one finite number, got None",
    ),
    "gradient NaN": (ranker("batch.scores * np.nan"), "ranker", "gradient must be .* not finite"),
    "gradient flat": (ranker("np.zeros(3)"), "ranker", "gradient must be .* finite numbers, got 3"),
    "gradient raises": (ranker("undefined"), "ranker", "gradient failed: NameError: name"),
    "no policy": (ranker("batch.scores", ""), "ranker", "policy must be a .*Policy, got None"),
    "NaN to a sampler": (
        ranker("sample(batch.scores * np.nan, batch.mask, top_k=2, n_samples=2, rng=rng)").replace(
            "import PlackettLuce", "import PlackettLuce, sample_rankings as sample"
        ),
        "ranker",
        "gradient failed: .* scores are not finite",
    ),
    "probabilities NaN": (
        click_model("relevance * np.nan"),
        "click-model",
        "probabilities must be .* finite numbers from 0 to 1, got .* not finite",
    ),
    "probabilities 3": (
        click_model(ONES + " * 6"),
        "click-model",
        "probabilities must be .* finite numbers from 0 to 1, got 3 at index",
    ),
    "probabilities raise": (
        click_model("{}['no']"),
        "click-model",
        "probabilities failed: KeyError: 'no'",
    ),
    "affine 0": (
        click_model(ONES, AFFINE.format("Affine(np.zeros(top_k), np.zeros(top_k))")),
        "click-model",
        "affine examination must not be 0 at every rank",
    ),
    "affine 3": (
        click_model(ONES, AFFINE.format("Affine(np.full(top_k, 3.0), np.zeros(top_k))")),
        "click-model",
        r"affine examination \+ trust must be 5 finite numbers from 0 to 1, got 3 at index 0",
    ),
    "affine short": (
        click_model(ONES, AFFINE.format("Affine(np.ones(2), np.zeros(2))")),
        "click-model",
        "affine examination must be 5 finite numbers, got 2",
    ),
    "affine no pair": (
        click_model(ONES, AFFINE.format("np.ones(top_k)")),
        "click-model",
        r"affine must be Affine\(examination, trust\) or None, got ndarray",
    ),
    "scores NaN": (
        scorer("np.full(len(documents), np.nan)"),
        "scorer",
        "scores must be .* not finite",
    ),
    "scores short": (scorer("np.zeros(3)"), "scorer", "scores must be .* got 3"),
    "scores None": (scorer("None"), "scorer", "scores must be .* got None"),
    "scores in a step": (
        scorer(step="ascent(np.full(len(documents), np.inf))"),
        "scorer",
        "scores must be .* not finite",
    ),
    "step raises": (scorer(step="raise ValueError('no')"), "scorer", "step failed: ValueError: no"),
    "no model": (scorer(build="None"), "scorer", "build must return a Model, got NoneType"),
    "build raises": (scorer(build="1 / 0"), "scorer", "build failed: ZeroDivisionError"),
}
"""By what is wrong: the module, its role, and what the line says after the component's name."""


@pytest.fixture
def site(here, monkeypatch, fresh_registry):
    folder = here / "site"
    folder.mkdir()
    return Site(folder, monkeypatch)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_that_names_the_plugin(cltr, here, site, fault):
    code, role, says = FAULTS[fault]
    site.install("cltr-acme", code, version="0.3.0")
    site.monkeypatch.setenv("CLTR_PLUGINS", "cltr-acme,cltr-ips")
    option = "users" if says.startswith("probabilities") else role  # rewards need affine ones
    chosen = {"reward": "ips", option: "mine"}
    words = [word for key, name in chosen.items() for word in (f"--{key}", name)]
    flags = small.FLAGS[:3] + small.FLAGS[5:] if role == "scorer" else small.FLAGS
    done = cltr("train", *flags, *words, "--on-doubt", "ignore", "--out", "run")
    lines = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert done.exit_code == 1, done.stderr
    assert len(lines) == 1
    name = rf"Error: {role} 'mine' \(cltr-acme 0\.3\.0\): "
    assert re.match(name + says, lines[0]), lines[0]
    assert not (here / "run").exists()


def test_the_traceback_is_there_when_it_is_asked_for(cltr, site):
    site.install("cltr-acme", reward("1 / 0"))
    words = ["train", *small.FLAGS, "--reward", "mine", "--verbose"]
    error = cltr(*words).exception
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_keeping_the_last_epoch_does_not_keep_garbage(cltr, site, here):
    site.install("cltr-acme", ranker("batch.scores * np.nan"))
    words = ["train", *small.FLAGS, "--reward", "labels", "--ranker", "mine"]
    done = cltr(*words, "-o", "training.keep=last", "--out", "run")
    assert done.exit_code == 1
    assert not (here / "run").exists()


# Click models that are fitted.

FITTED = (
    HEAD
    + """
from dataclasses import replace
from cltr.clicks.models import PositionBased


class Mine(PositionBased):
    name = "mine"

    def fit(self, counts, dataset=None):
        found = PositionBased().fit(counts, dataset)
        self.fitted = {change}
        return self.fitted


@hookimpl
def cltr_click_models():
    return [Mine]
"""
)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("replace(found, query_ids=np.arange(3))", r"fit query_ids must be \d+, one for each doc"),
        ("None", "fit must return Parameters, got None"),
        ("1 / 0", "fit failed: ZeroDivisionError"),
    ],
)
def test_a_fit_that_no_file_could_hold(cltr, here, site, change, says):
    words = ["--users", "pbm", "-n", "2000", "-o", "production.epochs=1", "--out", "log.h5"]
    assert cltr("simulate", *words).exit_code == 0
    site.install("cltr-acme", FITTED.format(change=change), version="0.3.0")
    registry.cache_clear()
    done = cltr(
        "fit", "--log", "log.h5", "--data", "demo", "--click-model", "mine", "--out", "m.h5"
    )
    assert done.exit_code == 1, done.stderr
    line = done.stderr.splitlines()[-1]
    assert re.match(rf"Error: click-model 'mine' \(cltr-acme 0\.3\.0\): {says}", line), line
    assert not (here / "m.h5").exists()


# What comes from files, and from options.


@pytest.mark.parametrize(
    ("key", "who"), [("production.learning_rate", "mlp"), ("training.learning_rate", "mlp")]
)
def test_a_learning_rate_beyond_all_measure(refused, key, who):
    words = ["train", *small.FLAGS, "--reward", "ips", "-o", f"{key}=1e38", "--on-doubt", "ignore"]
    line = refused(*words, code=1)
    assert line.startswith(f"scorer '{who}' (cltr ")
    assert "use a smaller learning rate" in line


@pytest.mark.parametrize("row", [7, 140])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_no_numbers(refused, here, value, row):
    data = small.dataset()
    data.features[row, 2] = value
    save_dataset(data, here / "bad.h5")
    words = ["train", "--data", "bad.h5", *small.FLAGS, "--reward", "ips"]
    for more in ([], ["--no-standardize"]):
        line = refused(*words, *more, code=1)
        assert f"feature 3 of document 'd{row}' of query 'q" in line
        assert f" is {value}; replace what is not finite" in line


def test_features_beyond_all_measure(cltr, refused, here):
    data = small.dataset()
    data.features[7, 2] = 3.3e38
    save_dataset(data, here / "bad.h5")
    words = ["train", "--data", "bad.h5", *small.FLAGS, "--reward", "ips"]
    assert cltr(*words, "--out", "run").exit_code == 0  # standardised, they are cut
    line = refused(*words, "--no-standardize", code=1)
    assert line.startswith("scorer 'mlp' (cltr ")
    assert "(up to 3.3e+38 in size)" in line


def test_weights_that_are_no_numbers(refused, train, here):
    from safetensors.numpy import load_file, save_file

    train("--out", "run")
    path = here / "run/policy.safetensors"
    weights = {
        name: np.full_like(values, np.nan) if name.startswith("layers") else values
        for name, values in load_file(path).items()
    }
    save_file(weights, path)
    line = refused("evaluate", "run", code=1)
    assert line.startswith("run/policy.safetensors: ")
    assert "not finite" in line
