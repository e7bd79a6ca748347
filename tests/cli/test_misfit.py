"""Guards what ``cltr train`` says of a click model that held-out clicks reject."""

import pytest

from tests import small


@pytest.mark.parametrize("estimator", ["ips", "dr", "safe-ips"])
def test_reversed_users_are_warned_of_with_what_to_do(cltr, estimator):
    words = ("--users", "adversarial", "--estimator", estimator, *small.FLAGS, "-n", "20000")
    done = cltr("train", *words)
    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "warning: held-out clicks reject the click model 'trust-bias'" in text
    assert "use --estimator prpo" in text


def test_the_warning_stands_in_the_result_and_when_judged_again(train, cltr):
    result = train("--users", "adversarial", "-n", "20000", "--out", "run")
    (line,) = result["warnings"]
    assert "prpo bounds what that can cost" in line
    assert line[:60] in " ".join(cltr("evaluate", "run").stdout.split())


def test_the_right_model_is_not_warned_of(train):
    assert train("-n", "20000")["warnings"] == []
    assert train("--users", "adversarial", "-n", "20000", reward="naive")["warnings"] == []
