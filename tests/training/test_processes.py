"""Guards training by several processes: what one learns, the same bits, also after a kill."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from cltr.cli import cli
from cltr.cli.common import interrupts
from cltr.documents import ModelSetup
from cltr.files import launched
from cltr.objectives.plain import Plain
from cltr.objectives.rewards import Labels
from cltr.training import processes
from cltr.training.exact_ranker import Exact
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.processes import ALONE, Together
from cltr.training.scorers import Mlp
from cltr.types import Exposure, Rewards
from cltr_ips import IPS
from cltr_safe import Safe
from tests import small

DATA = small.dataset()
FLAGS = [
    *small.FLAGS,
    *("-o", "training.epochs=4", "--reward", "ips", "--on-doubt", "ignore", "--no-report"),
]
BUILDING = threading.Lock()
"""Threads share torch's random numbers, which processes do not: they build one after another."""
PROGRAM = Path(__file__).with_name("killed_command.py")


class Threads(Together):
    """Threads in place of processes: the same arithmetic without a network."""

    def __init__(self, rank, shared):
        super().__init__(rank, shared.parties)
        self._shared = shared

    def _sum(self, tensor):
        self._shared.held[self.rank] = tensor.clone()
        self._shared.wait()
        total = sum(self._shared.held[1:], self._shared.held[0])
        self._shared.wait()
        tensor.copy_(total)
        self.sent += tensor.numel() * tensor.element_size()

    def agree(self, arrays):
        pass


def rewards(split, rng):
    part = DATA.part(split)
    values, exposure = rng.random(part.n_documents), rng.random(part.n_documents)
    weights = rng.integers(0, 3, part.n_queries) / part.n_queries
    return Rewards(part, values, Exposure(*3 * [exposure], "exact"), weights, split=split)


def trained(estimator, together):
    rng = np.random.default_rng(0)
    training, validation = rewards("train", rng), rewards("valid", rng)
    options = TrainingOptions(epochs=3, batch_queries=4, learning_rate=1e-2)
    with BUILDING:
        model = Mlp(hidden=(5,)).build(ModelSetup(DATA.n_features, 9), seed=0)
    trainer = Trainer(estimator, Exact(), np.array([1.0, 0.5]), options, processes=together)
    state = trainer.train(model, training, validation)
    return model.state(), [one["valid_value"] for one in state.history]


def by_threads(estimator, count):
    shared = threading.Barrier(count)
    shared.held = [None] * count
    found = [None] * count

    def work(rank):
        try:
            found[rank] = trained(estimator, Threads(rank, shared))
        except BaseException:
            shared.abort()
            raise

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return found


@pytest.mark.parametrize("count", [2, 3, 40])  # some of 40 own nothing
@pytest.mark.parametrize("estimator", [Plain(Labels()), Safe(IPS())], ids=["plain", "penalised"])
def test_several_processes_learn_what_one_learns(estimator, count):
    weights, values = trained(estimator, ALONE)
    for theirs, found in by_threads(estimator, count):
        np.testing.assert_allclose(found, values, rtol=1e-6)
        for name in weights.keys() - {"layers.2.bias"}:  # it moves no ranking
            np.testing.assert_allclose(theirs[name], weights[name], rtol=1e-4, atol=1e-5)


def test_every_query_has_one_owner():
    training = rewards("train", np.random.default_rng(0))
    for count in (2, 5, 50):
        shares = [Together(rank, count).share(training) for rank in range(count)]
        queries = np.arange(training.dataset.n_queries)
        assert np.array_equal(np.concatenate([one.of(queries) for one in shares]), queries)
        values = np.concatenate([one.rewards.values for one in shares])
        assert np.array_equal(values, training.values)
    sizes = [Together(rank, 2).share(training).rewards.dataset.n_documents for rank in range(2)]
    assert max(sizes) - min(sizes) <= 2 * training.dataset.lists.lengths.max()


def test_processes_that_draw_do_not_draw_the_same():
    rng = np.random.default_rng([1, 2])
    assert ALONE.draws(rng) is rng
    first, second = (Together(rank, 2).draws(np.random.default_rng([1, 2])) for rank in range(2))
    assert first.random() != second.random()


def torchrun(*words, cwd, kill=""):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    return subprocess.run(
        [*command, str(PROGRAM), *words],
        env={**os.environ, "KILL": kill, "OMP_NUM_THREADS": "1"},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def said(done):
    return [line for line in done.stderr.splitlines() if line.startswith("Error: ")]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """A run of two processes that nobody disturbed."""
    folder = tmp_path_factory.mktemp("together")
    small.saved(folder)
    done = torchrun("train", "--data", "small.h5", *FLAGS, "--out", "two", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"verdict"') == 1
    return folder


def outputs(folder):
    names = ("policy.safetensors", "production.safetensors", "history.json")
    return [(folder / name).read_bytes() for name in names]


def test_two_processes_learn_what_one_learns(together, monkeypatch):
    monkeypatch.chdir(together)
    with pytest.raises(SystemExit) as ended:
        cli.main(["train", "--data", "small.h5", *FLAGS, "--out", "one"], prog_name="cltr")
    assert ended.value.code == 0
    one, two = (load_file(together / name / "policy.safetensors") for name in ("one", "two"))
    for name in one.keys() - {"layers.2.bias"}:  # it moves no ranking
        np.testing.assert_allclose(two[name], one[name], rtol=1e-4, atol=1e-5)
    assert "processes = 2" in (together / "two" / "run.toml").read_text()
    assert "processes" not in (together / "one" / "run.toml").read_text()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_all_and_the_run_resumes_to_the_same_bits(together, rank):
    out = f"killed-{rank}"
    flags = ["--data", "small.h5", *FLAGS, "--out", out]
    done = torchrun("train", *flags, cwd=together, kill=f"{rank}:2")
    assert done.returncode != 0
    how = f"torchrun --nproc-per-node 2 -m cltr train --resume {out}"
    assert said(done) == [f"Error: {launched.LOST}; to resume: {how}"]
    assert (together / out / "checkpoint" / "state.json").exists()
    again = torchrun("train", "--resume", out, cwd=together)
    assert again.returncode == 0, again.stderr
    assert outputs(together / out) == outputs(together / "two")
    assert not list(together.glob(".*"))  # what the others wrote is gone


def test_what_several_processes_cannot_train_is_refused_in_one_line(together):
    flags = ["--data", "small.h5", *FLAGS, "--out", "refused"]
    done = torchrun("train", *flags, "--ranker", "optimum", cwd=together)
    assert done.returncode != 0
    assert len(said(done)) == 1
    assert "ranker 'optimum' takes no gradients" in said(done)[0]
    assert not (together / "refused").exists()


@pytest.fixture
def of_two(monkeypatch):
    """As if torchrun had started this process as one of two."""
    values = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(launched, "PATIENCE", launched.PATIENCE / 100)
    monkeypatch.setattr(interrupts, "SIGNALS", ())  # those of this process stay as they are


@pytest.mark.parametrize("words", [["evaluate", "run"], ["data", "info", "demo"], []])
def test_other_commands_refuse_torchrun(of_two, words, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(words, prog_name="cltr")
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "Error: torchrun can start 'cltr train' only; start this command without torchrun\n"
    )


def test_a_run_resumes_with_as_many_processes_as_it_began_with(together, monkeypatch, capsys):
    monkeypatch.chdir(together)
    text = (together / "two" / "run.toml").read_text()
    (together / "began").mkdir()
    (together / "began" / "run.toml").write_text(text)
    with pytest.raises(SystemExit) as ended:
        cli.main(["train", "--resume", "began"], prog_name="cltr")
    assert ended.value.code == 2
    assert capsys.readouterr().err.strip() == (
        "Error: began: number of processes: it began with 2, now 1; start it with: "
        "torchrun --nproc-per-node 2 -m cltr train --resume began"
    )


def test_a_scorer_without_gradients_is_refused():
    from cltr.errors import UnsupportedError

    with pytest.raises(UnsupportedError, match="cannot be trained by several processes"):
        Together(0, 2).require(object())


def test_only_the_command_line_joins_others(of_two):
    assert processes.current_processes() is ALONE
