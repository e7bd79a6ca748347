"""Attacks that once succeeded, each as it was found; docs/reliability.md lists them."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from cltr.data.dataset_file import save_dataset
from cltr.files.arrays import read_arrays, write_arrays
from cltr.policies import PlackettLuce
from cltr.types import Lists
from tests import small
from tests.reliability.world import LITTLE, command


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_dataset(small.dataset(), "data.h5")
    return tmp_path


@pytest.fixture
def run(here):
    done = command("train", "--data", "data.h5", "--reward", "ips", *LITTLE, "--out", "run")
    assert done.exit_code == 0, done.stderr
    return here / "run"


def refused(*words: str) -> str:
    """The one line of a command that must fail."""
    done = command(*words)
    assert done.exit_code in (1, 2), done.stdout + done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert "internal error" not in line
    return line


@pytest.mark.parametrize("name", ["m[x].h5", "log[v2].h5", "[bold]b.h5", "m[/x].h5"])
def test_r3_names_with_markup_are_shown_as_they_are(here, name):
    if "/" in name:
        (here / "m[").mkdir()
    done = command("simulate", "--data", "data.h5", "-n", "50", "--out", name)
    assert done.exit_code == 0, done.stderr
    assert name in done.stdout


def test_r3_terminal_codes_in_a_result_do_not_reach_the_terminal(run):
    found = json.loads((run / "result.json").read_text())
    found["alerts"] = ["\x1b[31mred\x1b]0;title\x07"]
    (run / "result.json").write_text(json.dumps(found))
    import cltr

    shown = str(cltr.load(run))
    assert "red" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_r6_weights_that_are_not_finite_are_refused(run):
    path = run / "policy.safetensors"
    arrays = read_arrays(path)
    write_arrays(path, {name: np.full_like(one, np.nan) for name, one in arrays.items()})
    assert "do not fit" in refused("evaluate", "run")


@pytest.mark.parametrize("value", [None, "nan", [0.5], True])
def test_r6_a_cell_without_a_number_is_not_done(here, value):
    from cltr.errors import DataError
    from cltr.studies.cell_files import read_row

    Path("cells").mkdir()
    row = {"status": "done", "ndcg@5": value, "production_ndcg@5": 0.5}
    Path("cells/key.json").write_text(json.dumps(row))
    with pytest.raises(DataError, match="not a cell of a study"):
        read_row(here, "key")


@pytest.mark.parametrize("change", [lambda a: a.astype("f8"), lambda a: a[None], lambda a: a[:0]])
def test_r7_weights_of_another_type_or_shape_are_refused(run, change):
    path = run / "policy.safetensors"
    arrays = read_arrays(path)
    write_arrays(path, {name: change(one) for name, one in arrays.items()})
    assert "the weights do not fit the scorer of run.toml" in refused("evaluate", "run")


TAMPERED = {
    "result.json": [
        ("n_interactions", "many"),
        ("n_interactions", None),
        ("plan", "odd"),
        ("metrics", []),
        ("certificate", {"train": 1}),
        ("off_policy", {"policy": {}}),
        ("alerts", "text"),
        ("top_k", 10**30),
    ],
    "inputs.json": [("n_features", -1), ("n_features", 10**30), ("normalization", {"name": 1})],
    "serving.json": [("share", "all"), ("new", 3), ("top_k", -1), ("shares", {"q": None})],
}


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [(name, *change) for name, changes in TAMPERED.items() for change in changes],
)
def test_r7_tampered_files_of_a_run_are_refused(run, name, key, value):
    found = json.loads((run / name).read_text())
    (run / name).write_text(json.dumps({**found, key: value}))
    requests = "request,query\nr1,q0\n"
    Path("requests.csv").write_text(requests)
    data = small.dataset()
    owners = np.repeat(data.query_ids, np.diff(data.offsets))
    rows = [f"{q},{d},0.5" for q, d in zip(owners, data.document_ids, strict=True)]
    Path("scores.csv").write_text("\n".join(["query,document,score", *rows]))
    words = ["rank", "run", "--data", "data.h5", "--production", "scores.csv"]
    assert name in refused(*words, "--requests", "requests.csv", "--out", "x.csv") or (
        "serving rule" in refused(*words, "--requests", "requests.csv", "--out", "x.csv")
    )


@pytest.mark.parametrize(
    "text", ["[estimator]\nname = [1, 2]", "seed = 1e400", "a = " + "[" * 9999, "[[estimator]]"]
)
def test_r7_run_files_that_are_wrong_are_refused(here, text):
    Path("run.toml").write_text(text)
    assert "run.toml" in refused("train", "--config", "run.toml")


def _script(*words: str, **how: object) -> "subprocess.CompletedProcess[str]":
    code = "from cltr.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
        **how,
    )


def test_r7_a_full_stdout_is_one_line(here):
    with open("/dev/full", "w") as full:
        done = _script("data", "info", "data.h5", "--json", stdout=full)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert done.stderr.count("Error: ") == 1


def test_r7_a_stdout_that_is_not_utf_8_is_no_error(here):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = _script("data", "info", "data.h5", stdout=subprocess.DEVNULL, env=environment)
    assert done.returncode == 0, done.stderr


def test_r7_a_pipe_as_input_does_not_hang(here):
    os.mkfifo("pipe.csv")
    assert "pipe.csv" in refused("ingest", "pipe.csv", "--out", "x.h5")


def test_r7_odd_names_of_files_and_columns_are_read(here):
    rows = "rowid,query,document,position,click\n" + "".join(
        f"s{i},q{i % 3},d{p},{p},{int(p == 1 and i % 2)}\n" for i in range(40) for p in (1, 2)
    )
    Path("~.csv").write_text(rows)
    done = command("ingest", "~.csv", "--session-column", "rowid", "--out", "x.h5")
    assert done.exit_code == 0, done.stderr


def test_r7_ids_that_are_not_utf_8_are_one_line(here):
    rows = b"session,query,document,position,click\n" + b"s1,q1,d\xff\xfe,1,1\n" * 3
    Path("clicks.csv").write_bytes(rows)
    assert "clicks.csv" in refused("ingest", "clicks.csv", "--out", "x.h5")


def test_r7_json_lines_that_are_nested_deeply_are_one_line(here):
    good = '{"session": "s", "query": "q", "document": "d", "position": 1, "click": 1}\n'
    Path("clicks.jsonl").write_text(good + "[" * 3000 + "\n")
    assert "clicks.jsonl" in refused("ingest", "clicks.jsonl", "--out", "x.h5")


def test_r7_ids_of_a_click_model_that_are_not_utf_8_are_one_line(here):
    from cltr.clicks.model_file import _decode
    from cltr.errors import DataError

    with pytest.raises(DataError, match=r"m\.h5: has ids that are not UTF-8; fit it again"):
        _decode(Path("m.h5"), np.array([b"\xff\xfe"]))


def test_r7_an_attribute_that_hdf5_cannot_size_is_one_line(here):
    import h5py

    from cltr.errors import DataError
    from cltr.files.attributes import read_attribute

    with h5py.File("empty.h5", "w") as file:
        file.attrs["odd"] = h5py.Empty("f8")
        with pytest.raises(DataError, match=r"empty\.h5: attribute 'odd'"):
            read_attribute(file, "odd", path="empty.h5")


def test_r8_a_query_of_100_000_documents_works():
    n = 100_000
    lists = Lists.of_offsets(np.array([0, n]))
    scores = np.random.default_rng(0).normal(size=n)
    ranks = PlackettLuce().expected_ranks(scores, lists, np.arange(n))
    assert ranks.mean() == pytest.approx((n + 1) / 2, rel=1e-6)


def test_r9_a_run_on_a_log_says_how_many_interactions_it_has(here):
    log = command("simulate", "--data", "data.h5", "-n", "700", "--out", "log.h5")
    assert log.exit_code == 0, log.stderr
    done = command("train", "--data", "data.h5", "--log", "log.h5", *LITTLE[2:], "--out", "run")
    assert done.exit_code == 0, done.stderr
    told = json.loads(Path("run/result.json").read_text())["n_interactions"]
    written = tomllib.loads(Path("run/run.toml").read_text())
    assert written.get("interactions", told) == told


@pytest.mark.parametrize(
    "words",
    [
        "simulate --data data.h5 --out none/x.h5",
        "ingest clicks.csv --out none/x.h5",
        "rank run --out none/x.csv",
        "fit --log log.h5 --out data.h5/x",
        "train --data data.h5 --out data.h5/run",
        "rank run --out x.odd",
    ],
)
def test_r9_what_cannot_be_written_is_refused_before_the_work(here, monkeypatch, words):
    def work(*given: object, **named: object) -> None:
        raise AssertionError("the work has begun")

    for place in (
        "cltr.experiment.simulate_log.simulate",
        "cltr.api.ingest.ingest_log",
        "cltr.api.rank.RunModel.open",
        "cltr.api.fit.fit_models",
        "cltr.experiment.train_run._run",
    ):
        monkeypatch.setattr(place, work)
    if "fit" in words:
        monkeypatch.setattr("cltr.api.fit.open_fit_data_of", lambda *a, **k: _Log())
        monkeypatch.setattr("cltr.api.fit.choose_models", lambda *a, **k: [])
    assert not any(word in refused(*words.split()) for word in ("work has begun", "Traceback"))


class _Log:
    has_sessions = True


@pytest.mark.parametrize(
    "words",
    [
        "gate nofile.csv --log log.h5 --data data.h5",
        "gate production --log log.h5 --data data.h5 --canary nofile.csv",
        "gate production --log log.h5 --data data.h5 --canary odd.csv",
        "gate production --log log.h5 --data data.h5 --out data.h5/x.json",
        "evaluate production nofile.csv --log log.h5 --data data.h5",
        "explore --log log.h5 --data data.h5 --out data.h5/x",
        "train --log small.h5 --data data.h5 --top-k 9",
        "simulate --data data.h5 --top-k 99 --out x.h5",
        "fit --log small.h5 --data data.h5 --plot x.odd",
        "train --data data.h5 -o scorer.hidden=[1000000000]",
    ],
)
def test_r9_what_cannot_work_is_refused_before_the_log_is_made_ready(here, monkeypatch, words):
    Path("odd.csv").write_text("a,b\n1,2\n")
    if "small.h5" in words:
        done = command("simulate", "--data", "data.h5", "-n", "50", "--out", "small.h5")
        assert done.exit_code == 0, done.stderr
    for place in (
        "cltr.api.judged_sources.open_judged_log",
        "cltr.api.explore.open_log",
        "cltr.experiment.experiment.Experiment.simulated",
        "cltr.experiment.train_run.open_run_log",
        "cltr.api.fit.open_fit_data_of",
    ):
        monkeypatch.setattr(place, lambda *given, **named: pytest.fail("the work has begun"))
    refused(*words.split())


@pytest.mark.slow
def test_r8_every_command_takes_a_query_of_100_000_documents(here):
    """Training, judging, ranking, deciding and reporting take seconds, and no gigabytes."""
    import pyarrow as pa
    from pyarrow import parquet

    lengths = [100_000] + [10] * 40
    owners, rng = np.repeat(np.arange(41), lengths), np.random.default_rng(0)
    splits = np.array(["train"] * 21 + ["valid"] * 10 + ["test"] * 10)
    table = {
        "query": [f"q{one}" for one in owners],
        "document": [f"d{row}" for row in range(len(owners))],
        "label": (rng.random(len(owners)) < 0.1).astype(int),
        "split": splits[owners],
        "f0": rng.normal(size=len(owners)),
        "f1": rng.normal(size=len(owners)),
    }
    parquet.write_table(pa.table(table), "table.parquet")
    short = "-o training.epochs=2 -o scorer.hidden=[8]"
    for words in (
        "data import table.parquet --split-column split --out big.h5",
        "simulate --data big.h5 -n 5000 --out log.h5 -o production.epochs=2",
        f"train --data big.h5 --log log.h5 --no-skyline {short} --out run",
        "evaluate run",
        "rank run --data big.h5 --out ranks.csv",
        "gate run --log log.h5 --data big.h5",
        "report run --out page.html",
    ):
        done = command(*words.split())
        assert done.exit_code in (0, 3), f"{words}: {done.stderr}"
