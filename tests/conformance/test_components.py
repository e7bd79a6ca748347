"""Guards every component that is registered, by whomever: each keeps its contract."""

from pathlib import Path

import numpy as np
import pytest

from cltr import testing
from cltr.clickmodels import TrustBias
from cltr.logs import LogFile, write_sessions
from cltr.plugins import ROLES, registry
from cltr.simulation import simulate_sessions


def names(role: str) -> list[str]:
    return registry().names(role)


def make(role: str, name: str, *parts):
    return registry().find(role, name)(*parts)


def bounded_reward():
    """Some reward that declares a variance bound, for estimators that demand one."""
    known = registry().components["reward"].values()
    return next(one[0][0]() for one in known if one[0][0].variance_factor is not None)


def write_hdf5(path: Path, n: int) -> None:
    data = testing.tiny_dataset()
    scores = np.zeros(data.n_documents)
    rng = np.random.default_rng(0)
    drawn = {
        split: (
            n,
            simulate_sessions(
                data.part(split),
                scores[data.documents_of(split)],
                TrustBias(),
                n=n,
                top_k=5,
                rng=rng,
            ),
        )
        for split in ("train", "valid")
    }
    offsets = {split: data.part(split).offsets for split in drawn}
    write_sessions(path, LogFile({}, scores), drawn, offsets)


WRITERS = {"hdf5": write_hdf5}
"""How to write a file that each log reader reads."""


def test_there_is_something_of_every_role_and_nothing_is_broken():
    assert all(names(role) for role in ROLES)
    assert registry().warnings() == []


@pytest.mark.parametrize("name", names("click-model"))
def test_click_models(name):
    testing.check_click_model(make("click-model", name))


@pytest.mark.parametrize("name", names("reward"))
def test_rewards(name):
    testing.check_reward(make("reward", name))


@pytest.mark.parametrize("name", names("estimator"))
def test_estimators(name):
    testing.check_estimator(make("estimator", name, bounded_reward()))


@pytest.mark.parametrize("name", names("ranker"))
def test_rankers(name):
    testing.check_ranker(make("ranker", name))


@pytest.mark.parametrize("name", names("scorer"))
def test_scorers(name):
    testing.check_scorer(make("scorer", name))


@pytest.mark.parametrize("name", names("log-reader"))
def test_log_readers(name, tmp_path):
    WRITERS[name](tmp_path / "log", 40)
    testing.check_log_reader(make("log-reader", name), tmp_path / "log", n_interactions=40)


@pytest.mark.parametrize("role", ROLES)
def test_components_of_a_role_repeat_their_options(role):
    """What ``repr`` shows is what was chosen; a second one with the same options is the same."""
    for name in names(role):
        parts = (bounded_reward(),) if role == "estimator" else ()
        first, second = make(role, name, *parts), make(role, name, *parts)
        assert first.options == second.options
        assert repr(first) == repr(second)
        assert repr(first).startswith(f"{type(first).__name__}(")
