"""Guards every page: its code blocks run from the first to the last, or say why they cannot.

Pages that show what a command prints run as they stand. The others run on a few queries and with
few epochs, so that all pages together stay quick.
"""

import re
import shutil
import sys
from pathlib import Path

import pytest

import cltr
from tests.docs.blocks import FENCE, ROOT, Runner, blocks_of, check_command, masked

MADE = {
    "docs/cli.md",
    *(f"docs/reference/{name}.md" for name in ("api", "components", "contracts", "run-file")),
}
"""Made from the code, whose own examples are doctests."""
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
}
BLOCKS = {page: blocks_of(page, text) for page, text in PAGES.items() if page not in MADE}
SHOP = "docs/tutorials/shop.md"
FILES_OF_THE_SHOP = re.compile(r"files\s+of\s+\[the\s+shop\s+tutorial\]")
AFTER_THE_SHOP = [page for page, text in PAGES.items() if FILES_OF_THE_SHOP.search(text)]
ALONE = [page for page, blocks in BLOCKS.items() if blocks and page not in (SHOP, *AFTER_THE_SHOP)]


def run_page(page: str) -> None:
    """All blocks of a page, in the current folder."""
    shows_output = any(block.kind == "text" for block in BLOCKS[page])
    runner = Runner(quick=not shows_output)
    for block in BLOCKS[page]:
        runner.run(block)


def run_tests_of_page() -> None:
    """Test modules that a page has written."""
    for path in sorted(Path().glob("test_*.py")):
        names: dict = {}
        exec(compile(path.read_text(), str(path), "exec"), names)
        tests = [value for name, value in names.items() if name.startswith("test_")]
        assert tests, path
        for number, test in enumerate(tests):
            wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
            folder = Path(f"given-{path.stem}-{number}").absolute()
            folder.mkdir()
            test(*[folder for _ in wanted])


@pytest.fixture
def here(monkeypatch, tmp_path, fresh_registry):
    """An empty folder from which modules can be imported, as a reader's would be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("cltr.studies.runner.os.cpu_count", lambda: 1)  # one worker is enough
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (tmp_path / f"{name}.py").exists():
            del sys.modules[name]


@pytest.mark.parametrize("page", ALONE)
def test_every_block_of_a_page_works(page, here, request):
    if not any(block.kind == "text" for block in BLOCKS[page]):
        request.getfixturevalue("small_demo")
    run_page(page)
    run_tests_of_page()


def check_numbers_of_the_shop() -> None:
    """The tutorial ends with numbers of its own run; processors differ in the third digit."""
    text = " ".join(PAGES[SHOP].split())
    found = re.search(r"a gain of ([\d.]+) DCG a request, between ([\d.]+) and ([\d.]+)\.", text)
    gain = cltr.load("run").estimated_gain
    assert found and gain
    told = [float(number) for number in found.groups()]
    assert told == pytest.approx([gain.value, gain.low, gain.high], abs=0.02)


def test_the_shop_and_all_that_uses_its_files(here, tmp_path_factory, monkeypatch):
    assert len(AFTER_THE_SHOP) >= 5
    run_page(SHOP)
    check_numbers_of_the_shop()
    for page in AFTER_THE_SHOP:
        folder = tmp_path_factory.mktemp("page")
        shutil.copytree(here, folder, dirs_exist_ok=True)
        monkeypatch.chdir(folder)
        run_page(page)


@pytest.mark.parametrize("page", PAGES)
def test_commands_stand_in_blocks_that_are_checked(page):
    """No command hides in an indented block, and those in the text could be typed."""
    bare = FENCE.sub("", PAGES[page])
    assert not re.search(r"^    (?:\$ )?(?:cltr|python|make|pip) ", bare, re.M)
    for span in re.findall(r"`(cltr [a-z][^`]*)`", bare):
        words = [word for word in span.split() if "…" not in word and word != "..."]
        if not re.search(r"[A-Z]{2}|'", span) and len(words) > 1:
            check_command(" ".join(words), f"{page}: {span}")


def test_commands_of_the_help_texts_could_be_typed():
    lines = re.findall(r"^    (cltr .*)$", PAGES["docs/cli.md"], re.M)
    assert len(lines) > 40
    for line in lines:
        check_command(line, "docs/cli.md")


@pytest.mark.parametrize(
    "path",
    sorted(ROOT.glob("plugins/*/README.md")),
    ids=lambda path: path.parent.name,
)
def test_commands_of_package_pages_could_be_typed(path):
    """Each package has a README of its own; its commands take too long to be run here."""
    for block in blocks_of(path.parent.name, path.read_text(encoding="utf-8")):
        if block.kind == "python" and not block.text.startswith(">>>"):
            compile(block.text, block.place, "exec")
        for line in block.commands:
            if re.match(r"(?:\$ )?cltr ", line):
                check_command(line.removeprefix("$ "), block.place)


def test_a_wrong_command_is_found():
    for wrong in ("cltr trian", "cltr train --estimater prpo", "python examples/none.py"):
        with pytest.raises(AssertionError):
            check_command(wrong, "here")
    with pytest.raises(AssertionError, match="needs a kind"):
        Runner().run(blocks_of("page", "```\ncltr train\n```\n")[0])


def test_output_may_differ_in_numbers_only():
    assert masked("│ gained 0.52 │") == masked("gained 0.47")
    assert masked("Verdict: hold.") != masked("Verdict: deploy.")
