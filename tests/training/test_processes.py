"""Guards training by several processes: what one learns, the same bits, also after a kill."""

import os
import queue
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from cltr.cli import cli
from cltr.cli.common import interrupts
from cltr.documents import ModelSetup
from cltr.files import launched
from cltr.objectives.plain import Plain
from cltr.objectives.rewards import Labels
from cltr.training import processes
from cltr.training import together as connected
from cltr.training.exact_ranker import Exact
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.processes import ALONE
from cltr.training.scorers import Mlp
from cltr.training.signs_of_life import VARIABLE
from cltr.training.together import Together
from cltr.types import Exposure, Rewards
from cltr_ips import IPS
from cltr_safe import Safe
from tests import small

DATA = small.dataset()
FLAGS = [
    *small.FLAGS,
    *("-o", "training.epochs=4", "--reward", "ips", "--on-doubt", "ignore", "--no-report"),
]
SIMULATED = ["-n", "2000", "-o", "production.epochs=2", "-o", "scorer.hidden=[6]"]
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


@pytest.mark.parametrize("count", [2, 5])
def test_each_process_gets_the_values_of_its_own_documents(count, monkeypatch):
    monkeypatch.setattr(connected, "VALUES_AT_ONCE", 3)  # several messages each
    mail = [queue.SimpleQueue() for _ in range(count)]
    monkeypatch.setattr(torch.distributed, "send", lambda part, rank: mail[rank].put(part))
    part = DATA.part("train")
    values = np.random.default_rng(0).random(part.n_documents) + 1.0
    assert Together(0, count).deal(values, part) is values
    for rank in range(1, count):
        monkeypatch.setattr(
            torch.distributed, "recv", lambda own, _, rank=rank: own.copy_(mail[rank].get())
        )
        one = Together(rank, count)
        found, own = one.deal(None, part), one.own_rows(part)
        assert np.array_equal(found[own], values[own])
        assert np.count_nonzero(found) == len(values[own])
        assert mail[rank].empty()


@pytest.mark.parametrize(
    ("cards", "known", "expected"),
    [(0, True, "gloo"), (1, True, "gloo"), (2, False, "gloo"), (2, True, "cpu:gloo,cuda:nccl")],
)
def test_nccl_sums_where_every_process_has_a_card(cards, known, expected, monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cards > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: known)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert connected.backend(2) == expected
    assert chosen == ([1] if "nccl" in expected else [])


def test_gradients_are_summed_where_they_lie():
    class Recorded(Together):
        def _sum(self, tensor):
            summed.append((tensor.device.type, tensor.numel()))

    summed = []
    gradients = [torch.ones(2), torch.ones(3, device="meta"), torch.ones(4)]
    Recorded(0, 2).add(SimpleNamespace(gradients=lambda: gradients))
    assert summed == [("cpu", 6), ("meta", 3)]


def torchrun(*words, cwd, **variables):
    return ended(started("--nproc-per-node", "2", words=words, cwd=cwd, **variables))


def started(*flags, words, cwd, **variables):
    command = [sys.executable, "-m", "torch.distributed.run", *flags]
    return subprocess.Popen(
        [*command, str(PROGRAM), "--", *words],
        env={**os.environ, **variables, "OMP_NUM_THREADS": "1"},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


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


def test_two_machines_learn_the_bits_of_two_processes_on_one(together):
    """Two agents of torchrun on this machine, as two machines have one each."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    words = ["train", "--data", "small.h5", *FLAGS, "--out", "machines"]
    agents = [
        started(
            *("--nnodes", "2", "--nproc-per-node", "1", "--node-rank", f"{rank}"),
            *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}"),
            words=words,
            cwd=together,
        )
        for rank in range(2)
    ]
    for done in [ended(agent) for agent in agents]:
        assert done.returncode == 0, done.stderr
    assert outputs(together / "machines") == outputs(together / "two")


def test_the_first_process_alone_reads_the_log(together, monkeypatch):
    """The program fails where another process opens one."""
    monkeypatch.chdir(together)
    with pytest.raises(SystemExit):
        cli.main(["simulate", "--data", "small.h5", *SIMULATED, "--out", "log.h5"])
    words = ["train", "--data", "small.h5", "--log", "log.h5", *FLAGS[2:]]
    done = torchrun(*words, "--out", "log-two", cwd=together)
    assert done.returncode == 0, done.stderr
    with pytest.raises(SystemExit):
        cli.main([*words, "--out", "log-one"])
    one, two = (load_file(f"log-{name}/policy.safetensors") for name in ("one", "two"))
    for name in one.keys() - {"layers.2.bias"}:
        np.testing.assert_allclose(two[name], one[name], rtol=1e-4, atol=1e-5)
    done = torchrun(*words, "--exposure", "logged", "--out", "refused", cwd=together)
    assert done.returncode != 0
    assert len(said(done)) == 1 and "has no logged propensities" in said(done)[0]
    assert not Path("refused").exists()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_all_and_the_run_resumes_to_the_same_bits(together, rank):
    out = f"killed-{rank}"
    flags = ["--data", "small.h5", *FLAGS, "--out", out]
    done = torchrun("train", *flags, cwd=together, KILL=f"{rank}:2")
    assert done.returncode != 0
    how = f"torchrun --nproc-per-node 2 -m cltr -- train --resume {out}"
    assert said(done) == [f"Error: {launched.LOST}; to resume: {how}"]
    assert (together / out / "checkpoint" / "state.json").exists()
    again = torchrun("train", "--resume", out, cwd=together)
    assert again.returncode == 0, again.stderr
    assert outputs(together / out) == outputs(together / "two")
    assert not list(together.glob(".*"))  # what the others wrote is gone


@pytest.mark.slow  # torchrun waits 30 seconds for the frozen process before it kills it
def test_a_frozen_process_ends_all_and_the_run_resumes_to_the_same_bits(together):
    flags = ["--data", "small.h5", *FLAGS, "--out", "frozen"]
    done = torchrun("train", *flags, cwd=together, FREEZE="1:2", **{VARIABLE: "8"})
    assert done.returncode != 0
    (line,) = said(done)
    assert line.startswith("Error: process 1 of this run gave no sign of life for 8 seconds")
    assert line.endswith("to resume: torchrun --nproc-per-node 2 -m cltr -- train --resume frozen")
    again = torchrun("train", "--resume", "frozen", cwd=together)
    assert again.returncode == 0, again.stderr
    assert outputs(together / "frozen") == outputs(together / "two")


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
        "torchrun --nproc-per-node 2 -m cltr -- train --resume began"
    )


def test_a_scorer_without_gradients_is_refused():
    from cltr.errors import UnsupportedError

    with pytest.raises(UnsupportedError, match="cannot be trained by several processes"):
        Together(0, 2).require(object())


def test_only_the_command_line_joins_others(of_two):
    assert processes.current_processes() is ALONE
