"""Two of everything: numbered folders never collide, and a study folder may be shared.

That the second of two commands with the same ``--out`` is refused and the first goes on unharmed
is tried with every command in ``two_at_once.py``, which ``test_killing.py`` runs.
"""

import json
import multiprocessing
import subprocess
import sys

from cltr.data.dataset_file import save_dataset
from cltr.experiment.run_folder import RunFolder
from tests import small
from tests.reliability.damage_plugin import GOOD

PROCESSES, FOLDERS = 4, 10


def _create(start, place, answers):
    import os

    os.chdir(place)
    start.wait()
    answers.put([RunFolder.create(None, label="x").path.name for _ in range(FOLDERS)])


def test_numbered_folders_of_processes_that_start_at_once_never_collide(tmp_path):
    fork = multiprocessing.get_context("fork")
    start, answers = fork.Event(), fork.Queue()
    every = [
        fork.Process(target=_create, args=(start, tmp_path, answers)) for _ in range(PROCESSES)
    ]
    for one in every:
        one.start()
    start.set()
    found = [name for _ in every for name in answers.get(timeout=300)]
    for one in every:
        one.join(60)
    assert len(set(found)) == PROCESSES * FOLDERS
    assert {path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()} == set(found)


COUNTING = GOOD.replace(
    "    def mu(self, data, *, propensity_clip=0.0):\n",
    "    def mu(self, data, *, propensity_clip=0.0):\n"
    '        open("computed", "a").write("once\\n")\n',
)
STUDY = """
version = "0.2"
interactions = [100, 200]
seeds = [1, 2]
skyline = false
[base]
data = "data.h5"
[base.training]
epochs = 1
[base.production]
epochs = 1
[base.scorer]
name = "linear"
[methods.mine]
estimator = "plain"
reward = "mine"
"""


def test_two_processes_share_the_cells_of_a_study(tmp_path):
    """Each cell is computed once, and both have all of them in their tables."""
    save_dataset(small.dataset(), tmp_path / "data.h5")
    (tmp_path / "mine.py").write_text(COUNTING)
    (tmp_path / "study.toml").write_text(STUDY)
    code = "from cltr.cli import main; main()"
    words = [
        "compare",
        "study.toml",
        "--out",
        "study",
        "--workers",
        "1",
        "--plugin",
        "mine.py",
        "--no-report",
        "--json",
    ]

    def compare():
        return subprocess.Popen(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    both = [compare(), compare()]
    ended = [(*one.communicate(timeout=600), one.returncode) for one in both]
    assert [code for *_, code in ended] == [0, 0], ended
    assert [json.loads(told)["cells"] for told, *_ in ended] == [4, 4]
    together = (tmp_path / "computed").read_text().splitlines()
    assert len(list((tmp_path / "study" / "cells").glob("*.json"))) == 4
    (tmp_path / "computed").unlink()
    (tmp_path / "study").rename(tmp_path / "first")
    alone = compare()
    alone.communicate(timeout=600)
    assert len(together) == len((tmp_path / "computed").read_text().splitlines())
