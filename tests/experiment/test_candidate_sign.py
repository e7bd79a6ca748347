"""Guards the gate against a gain whose sign depends on the click model."""

from dataclasses import replace

import pytest

from cltr.evaluation.part import Fold
from cltr.experiment.candidates import CandidateRanker
from cltr.experiment.judge_candidates import decide, gather_evidence, weigh
from cltr.experiment.judged_log import NO_OTHERS, log_config, open_judged_log
from tests.gate_rates import World, serve


@pytest.fixture(scope="module")
def world():
    return World("trust-bias", "even")


@pytest.fixture(scope="module")
def judged(world, tmp_path_factory):
    path = tmp_path_factory.mktemp("sign") / "log.h5"
    world.write_log(path, 4000, seed=1)
    return open_judged_log(log_config(path, click_model="trust-bias"), clicks="all")


def evidence_of(judged, scores):
    candidate = CandidateRanker("candidate", serve(judged, scores), "")
    return gather_evidence(judged, candidate, weigh(judged, candidate))


def flipped(fold: Fold) -> Fold:
    """The same fold by somebody who takes every click for a miss."""
    units = fold.held_out.units
    clicks = replace(units, clicks=~units.clicks)
    return replace(fold, held_out=replace(fold.held_out, units=clicks))


def test_other_click_models_are_fitted_and_agree(world, judged):
    found = evidence_of(judged, world.candidates["better"])
    assert [one["click_model"] for one in found.other_gains] == [
        "pbm, fitted",
        "trust-bias, fitted",
    ]
    assert all(one["value"] > 0 for one in found.other_gains)
    assert found.sign.outcome == "pass"
    assert decide(judged, found, max_loss=0.0).decision == "deploy"


def test_a_click_model_that_says_the_opposite_prevents_a_deploy(world, judged):
    doubted = replace(judged, other_folds={"odd": tuple(flipped(one) for one in judged.folds)})
    found = evidence_of(doubted, world.candidates["better"])
    assert found.gain.low > 0
    assert found.other_gains[0]["value"] < 0
    assert found.other_gains[0]["high"] < 0
    assert found.sign.outcome == "fail"
    verdict = decide(doubted, found, max_loss=0.0)
    assert verdict.decision == "hold"
    assert any("does not tell whether" in reason for reason in verdict.reasons)


def test_the_model_that_was_chosen_is_not_its_own_witness(world, tmp_path):
    world.write_log(tmp_path / "log.h5", 20_000, seed=1)
    judged = open_judged_log(log_config(tmp_path / "log.h5"), clicks="test")
    chosen = judged.click_model
    assert chosen.endswith(", fitted")
    assert chosen not in judged.other_folds
    assert len(judged.other_folds) == 1


def test_without_another_click_model_this_is_told(world, tmp_path, monkeypatch):
    monkeypatch.setattr("cltr.experiment.log_folds.AFFINE", ())
    world.write_log(tmp_path / "log.h5", 2000, seed=1)
    judged = open_judged_log(log_config(tmp_path / "log.h5", click_model="trust-bias"))
    assert NO_OTHERS in judged.notes
    assert evidence_of(judged, world.candidates["better"]).sign is None
