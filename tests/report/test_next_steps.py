"""Guards the commands that a page advises: they name everything that the next command needs."""

from types import SimpleNamespace

import pytest

from cltr.report.page.next_steps import next_steps
from cltr.report.page.subject import Subject

CANARY = SimpleNamespace(decision="canary", share=0.1, max_loss=0.02)
JUDGED = {"log": "log.h5", "scores": {}}


@pytest.mark.parametrize(
    ("data", "word"), [("my data.h5", " --data 'my data.h5'"), (None, ""), ("demo", "")]
)
def test_a_gate_command_names_the_data_set_of_the_log(data, word):
    gate = Subject("gate", "cand.csv", {**JUDGED, "data": data})
    told = [command for _, command in next_steps(gate, CANARY)]
    end = "--max-loss 0.02 --canary requests.csv"
    assert told == [f"cltr gate cand.csv --log log.h5{word} {end}"]
    run = {**JUDGED, "data": data, "run": "run"}
    deploy = SimpleNamespace(decision="deploy", max_loss=0.02)
    told = [command for _, command in next_steps(Subject("run", "run", run), deploy)]
    assert told[0] == f"cltr gate run --log log.h5{word} --max-loss 0.02"
    several = {**JUDGED, "data": data, "candidates": [{"candidate": "cand.csv"}]}
    steps = next_steps(Subject("candidates", "e.json", several), SimpleNamespace(decision=None))
    assert steps == [("Decide about one of them.", f"cltr gate cand.csv --log log.h5{word}")]
