"""Guards docs/data.md, docs/gate.md and docs/logs.md: every command and piece of Python works."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from cltr.cli import cli

ROOT = Path(__file__).parents[2]
PAGES = {name: (ROOT / "docs" / name).read_text() for name in ("data.md", "gate.md", "logs.md")}
PRINTED = {
    "data.md": "('bm25', 'price', 'in_stock', 'popularity') 40",
    "logs.md": "20000",
    "gate.md": "deploy 1.0",
}
LINKS = [
    (name, link) for name, page in PAGES.items() for link in re.findall(r"\]\(([^)]*)\)", page)
]


@pytest.mark.parametrize("name", PAGES)
def test_every_block_in_order(small_demo, capsys, name):
    blocks = re.findall(r"```(sh|python)\n(.*?)```", PAGES[name], re.S)
    assert len(blocks) >= (4 if name == "gate.md" else 9)
    for language, block in blocks:
        if language == "python":
            exec(compile(block, f"docs/{name}", "exec"), {})
            continue
        for line in block.splitlines():
            done = CliRunner().invoke(cli, shlex.split(line)[1:])
            assert done.exit_code == 0, f"{line}: {done.output}"
    assert PRINTED[name] in capsys.readouterr().out


@pytest.mark.parametrize(("name", "link"), LINKS)
def test_links_lead_somewhere(name, link):
    path, _, heading = link.partition("#")
    assert (ROOT / "docs" / path).exists()
    headings = re.findall(r"^#+ (.*)$", PAGES.get(path or name, ""), re.M)
    assert not heading or heading in {text.lower().replace(" ", "-") for text in headings}
