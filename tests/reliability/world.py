"""Good files of every kind that cltr reads, in one small folder, for attacks to damage."""

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import h5py
import numpy as np
from click.testing import CliRunner, Result

from cltr.cli import cli
from cltr.data.dataset_file import save_dataset
from cltr.plugins import registry
from tests import judged, small
from tests.plain_logs import write_csv, write_jsonl, write_parquet
from tests.reliability.damage_plugin import GOOD

LITTLE = [
    *("-n", "400", "--no-skyline", "-o", "scorer.hidden=[4]", "-o", "training.epochs=2"),
    *("-o", "production.epochs=1", "-o", "production.learning_rate=0.05"),
]
"""Options of a training that takes a fraction of a second."""
RUN = """
version = "0.2"
data = "data.h5"
interactions = 400
skyline = false
[training]
epochs = 1
[production]
epochs = 1
[scorer]
name = "mlp"
hidden = [4]
[reward]
name = "ips"
"""
STUDY = """
interactions = [200]
seeds = [1]
skyline = false
[base]
data = "data.h5"
[base.training]
epochs = 1
[base.scorer]
name = "linear"
[methods.dr]
estimator = "plain"
reward = "dr"
[methods.ips]
estimator = "plain"
reward = "ips"
"""


def command(*words: str) -> Result:
    """A command in this process."""
    try:
        return CliRunner().invoke(cli, [*words], prog_name="cltr")
    finally:
        if "--plugin" in words:  # a plugin file stays loaded, and the next one has the same names
            registry.cache_clear()


def _good(*words: str) -> None:
    done = command(*words)
    assert done.exit_code == 0, f"{words}: {done.stderr}"


def make_world(folder: Path, *, study: bool = True) -> None:
    """Write all files; the folder must be empty."""
    with chdir(folder):
        save_dataset(small.dataset(), "data.h5")
        _old_format("data.h5", "old.h5")
        _tables()
        _good("simulate", "--data", "data.h5", *_simulated(), "--sessions", "--out", "log.h5")
        _good("ingest", "clicks.csv", "--sessions", "--out", "real.h5")
        _good("fit", "--log", "log.h5", "--data", "data.h5", "--click-model", "pbm", "--out", "m")
        _good("train", "--data", "data.h5", "--reward", "ips", *LITTLE, "--out", "run")
        _good("train", "--data", "data.h5", "--log", "log.h5", *LITTLE[2:], "--out", "logrun")
        stop_a_run(Path("stopped"))
        if study:
            _study()
        for place in ("run", "logrun", "m"):
            for path in Path(place).glob("*.json"):
                _always_one_second(path)


def _always_one_second(path: Path) -> None:
    """The same bytes in each world, so that a trial can be repeated."""
    text = re.sub(r'"seconds": [0-9.e-]+', '"seconds": 1.0', path.read_text())
    path.write_text(text)


def _simulated() -> list[str]:
    return [word for word in LITTLE if word != "--no-skyline"]


def _old_format(source: str, target: str) -> None:
    """As version 0.1 wrote it, with text of variable length."""
    shutil.copyfile(source, target)
    with h5py.File(target, "r+") as file:
        for name in ("format", "name", "fingerprint", "normalization", "about"):
            file.attrs[name] = file.attrs[name].decode()


def _tables() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for session in range(60):
        query = f"q{session % 4}"
        shown = rng.permutation(5)
        for position, one in enumerate(shown.tolist(), start=1):
            clicked = int(rng.random() < 0.5 / position)
            row = {"session": f"s{session}", "query": query, "position": position}
            rows.append({**row, "doc": f"{query}-d{one}", "click": clicked})
    write_csv(Path("clicks.csv"), rows)
    write_parquet(Path("clicks.parquet"), rows)
    write_jsonl(Path("clicks.jsonl"), rows)
    judged.write_folder(Path("letor"))
    data = small.dataset()
    owners = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
    table = [
        {
            "query": str(data.query_ids[query]),
            "document": str(data.document_ids[row]),
            "label": int(data.labels[row]),
            **{f"f{column}": float(data.features[row, column]) for column in range(6)},
        }
        for row, query in enumerate(owners.tolist())
    ]
    write_parquet(Path("features.parquet"), table)
    write_jsonl(Path("features.jsonl"), table)
    Path("features.csv").write_text(_csv(table))
    scores = [{**{k: r[k] for k in ("query", "document")}, "score": r["f0"]} for r in table]
    Path("scores.csv").write_text(_csv(scores))
    Path("scores.trec").write_text(
        "".join(f"{r['query']} Q0 {r['document']} 1 {r['score']!r} x\n" for r in scores)
    )
    requests = [{"request": f"r{i}", "query": f"q{i % 9}"} for i in range(20)]
    Path("requests.csv").write_text(_csv(requests))
    canary = [
        {"arm": a, "share": 0.5, "clicks": i % 2} for i in range(40) for a in ("new", "production")
    ]
    Path("canary.csv").write_text(_csv(canary))
    Path("study.toml").write_text(STUDY)
    Path("run.toml").write_text(RUN)
    Path("plugin.py").write_text(GOOD)


def _csv(rows: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*rows[0]])
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def stop_a_run(folder: Path) -> None:
    """A run that was interrupted after it had saved its last epoch."""
    from cltr.experiment import train_run

    class Saver(train_run._Saver):
        def __init__(self, run: Any) -> None:
            super().__init__(run, every=-1.0)

    with (
        mock.patch.object(train_run, "_Saver", Saver),
        mock.patch.object(train_run, "hand_over", side_effect=KeyboardInterrupt),
    ):
        command(
            *("train", "--data", "data.h5", "--reward", "ips", *LITTLE),
            *("--on-doubt", "ignore", "--out", str(folder)),
        )
    assert (folder / "checkpoint" / "state.json").exists()


def _study() -> None:
    """A study whose cells are written by hand: no worker processes are needed."""
    from cltr.studies import runner
    from cltr.studies.study import Study

    study = Study.parse(Study.load(Path("study.toml")), owner="")
    row = {"status": "done", "ndcg@5": 0.6, "production_ndcg@5": 0.5, "seconds": 1.0}
    Path("study/cells").mkdir(parents=True)
    for group in runner._keyed(study):
        for _, key in group:
            Path(f"study/cells/{key}.json").write_text(json.dumps(row) + "\n")


@contextmanager
def no_workers() -> Iterator[None]:
    """Studies read their cells and compute none."""
    with mock.patch("cltr.studies.runner._compute"):
        yield


if __name__ == "__main__":  # prints what commands import
    make_world(Path(sys.argv[1]), study=False)
    print(*sys.modules, sep="\n")  # noqa: T201
