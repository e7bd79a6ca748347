"""Guards the folds of a log: gains on two scales of relevance are never added up."""

from dataclasses import replace

import pytest

from cltr.clicks.choose_model import AFFINE, choose_click_model
from cltr.experiment import log_folds
from cltr.experiment.judged_log import log_config, open_judged_log
from tests.gate_rates import World


@pytest.mark.parametrize("kind", AFFINE, ids=lambda kind: kind.name)
def test_all_folds_have_the_kind_of_click_model_of_the_training_part(kind, tmp_path, monkeypatch):
    tried = []

    def choose(statistics, *, kinds, seed):
        tried.append(tuple(one.name for one in kinds))
        best = (kind,) if kinds == AFFINE else kinds
        return choose_click_model(statistics, kinds=best, seed=seed)

    monkeypatch.setattr(log_folds, "choose_click_model", choose)
    path = tmp_path / "log.h5"
    World("trust-bias", "even").write_log(path, 4000, seed=1)
    judged = open_judged_log(log_config(path), clicks="all")
    assert tried == [tuple(one.name for one in AFFINE), (kind.name,)]
    assert any("also fitted to the" in note for note in judged.notes)


def test_a_part_that_the_click_model_cannot_be_fitted_to_judges_no_other(tmp_path, monkeypatch):
    def choose(statistics, *, kinds, seed):
        found = choose_click_model(statistics, kinds=kinds, seed=seed)
        return found if kinds == AFFINE else replace(found, model=None)

    path = tmp_path / "log.h5"
    World("trust-bias", "even").write_log(path, 4000, seed=1)
    everything = open_judged_log(log_config(path), clicks="all")
    monkeypatch.setattr(log_folds, "choose_click_model", choose)
    judged = open_judged_log(log_config(path), clicks="all")
    assert judged.n_interactions < everything.n_interactions
    assert [fold.fit.split for fold in judged.folds] == ["train"] * len(judged.folds)
    assert any("are not used to judge" in note for note in judged.notes)
