"""Guards docs/reference/json.md: it has every key that a command prints."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cltr.cli import cli

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text()
SMALL = ("--no-skyline", "-o", "training.epochs=2", "-o", "production.epochs=2")
COMMANDS = {
    "cltr simulate": "simulate -n 3000 --sessions --out log.h5",
    "cltr train": f"train --log log.h5 --out run {' '.join(SMALL[:3])}",
    "cltr evaluate RUN": "evaluate run",
    "cltr evaluate CANDIDATE --log LOG": "evaluate run production --log log.h5",
    "cltr gate": "gate run --log log.h5",
    "cltr check": "check log.h5",
    "cltr fit": "fit --log log.h5 --click-model pbm",
    "cltr explore": "explore --log log.h5 --max-loss 0.01",
    "cltr rank": "rank run --out ranking.parquet",
    "cltr export": "export run --to json --out ranker.json",
    "cltr report": "report run",
    "cltr compare": f"compare -m dr -n 300 --seeds 1 {' '.join(SMALL)}",
    "cltr data info": "data info demo",
    "cltr plugins": "plugins prpo",
}


def described(title: str) -> set[str]:
    """Keys in the tables of a section; evaluating a run also has those of training."""
    section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)
    assert section, f"no section '{title}'"
    rows = [line.split("|")[1] for line in section[1].splitlines() if line.startswith("| `")]
    keys = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    return keys | described("cltr train") if title == "cltr evaluate RUN" else keys


def test_the_page_has_every_key(small_demo):
    missing = {}
    for title, words in COMMANDS.items():
        done = CliRunner().invoke(cli, [*words.split(), "--json"], prog_name="cltr")
        assert done.exit_code in (0, 3), f"{words}: {done.stderr}"
        found = set(json.loads(done.stdout))
        if found - described(title):
            missing[title] = sorted(found - described(title))
    assert not missing, f"docs/reference/json.md does not describe: {missing}"


@pytest.mark.parametrize("title", re.findall(r"^## (.*)$", PAGE, re.M))
def test_every_section_is_a_command(title):
    assert title in COMMANDS
