"""Guards the paper's figures: published cells come out again, statements follow the cells."""

import importlib.util
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from cltr.cli import cli
from cltr.studies.compare import compare
from cltr.studies.figures import figure_study
from cltr.studies.portable_arithmetic import COMMON, arithmetic
from cltr.studies.runner import run_study
from cltr.studies.statements import judge_statements
from cltr.studies.study import Study
from cltr.studies.summary import Summary, read_results
from tests.judged import REAL

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PUBLISHED = sorted(path.stem for path in (DOCS / "reproduction").glob("*.toml"))
MQ2008 = ["--train", "S1.txt", "--train", "S2.txt", "--valid", "S3.txt", "--test", "S4.txt"]
IMPORTS = {
    "mq2008.h5": ("mq2008", MQ2008),
    "sample.h5": ("mslr-sample", [".", "--normalize", "log1p-z-score"]),
    "lightgbm.h5": ("lightgbm-lambdarank", ["."]),
}
"""Data sets of the page: where they lie, and how they are imported."""


# What is printed in docs/reproduction*.md.


def test_every_table_of_the_page_is_what_its_results_give():
    spec = importlib.util.spec_from_file_location("fill_tables", DOCS / "fill_tables.py")
    assert spec is not None
    assert spec.loader is not None
    fill_tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fill_tables)
    pages = [path.read_text(encoding="utf-8") for path in fill_tables.PAGES]
    assert sum(page.count("<!-- table ") for page in pages) >= 18
    for page in pages:
        assert fill_tables.filled(page) == page, "run: python docs/fill_tables.py"


@pytest.mark.parametrize("figure", ["figure-2", "figure-4"])
def test_the_page_says_which_statements_hold(figure):
    """A row for each statement: what became of it in the paper's way, and in ours."""
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| (")]
    begin = 0 if figure == "figure-2" else 3
    for column, preset in enumerate(("paper", "cltr"), start=1):
        name = f"{figure}-{preset}"
        values = tomllib.loads((DOCS / "reproduction" / f"{name}.toml").read_text())
        results = read_results(DOCS / "reproduction" / f"{name}.csv")
        found = judge_statements(figure, Summary(Study.parse(values, owner=name), results))
        said = [row[column].split(":")[0] for row in rows[begin : begin + len(found)]]
        assert said == ["holds" if one.holds else "fails" for one in found]


def run_again(name: str, data: str, folder: Path, *, interactions: int, seed: int) -> None:
    """Compute the cells of one number of interactions and seed; all numbers must be the page's."""
    if arithmetic() != COMMON:
        pytest.skip(f"published cells are of {COMMON}; this processor is {arithmetic()}")
    published = {
        (row["method"], row["users"]): row
        for row in read_results(DOCS / "reproduction" / f"{name}.csv")
        if (row["interactions"], row["seed"]) == (interactions, seed)
    }
    values = tomllib.loads((DOCS / "reproduction" / f"{name}.toml").read_text())
    values |= {"interactions": [interactions], "seeds": [seed], "skyline": False}
    found = Study.parse(values | {"base": {**values["base"], "data": data}}, owner=name)
    rows = run_study(found, folder)
    assert len(rows) == len(published) == len(found.methods)
    for row in rows:
        before = published[row["method"], row["users"]]
        both = (row.keys() & before.keys()) - {"seconds"}  # cells have more columns by now
        assert len(both) >= 20
        assert {key: row[key] for key in both} == {key: before[key] for key in both}


def test_a_published_cell_comes_out_again(tmp_path):
    run_again("figure-2-paper-demo", "demo", tmp_path, interactions=100, seed=1)


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Data sets of the page, imported as it says, once."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, (source, words) in IMPORTS.items():
            if (REAL / source).exists():
                monkeypatch.chdir(REAL / source)
                done = CliRunner().invoke(
                    cli, ["data", "import", *words, "--out", str(folder / name)]
                )
                assert done.exit_code == 0, done.output
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_cells_come_out_again(name, imported, tmp_path):
    values = tomllib.loads((DOCS / "reproduction" / f"{name}.toml").read_text())
    data = values["base"]["data"]
    if data != "demo" and not (imported / data).exists():
        pytest.skip(f"{data} is made of data that are not here")
    for place, seed in ((0, 2), (-1, 1)):
        n = [n for n in values["interactions"] if n <= 1e7][place]
        path = data if data == "demo" else str(imported / data)
        run_again(name, path, tmp_path / str(n), interactions=n, seed=seed)


# What the paper says of its figures, on the demo data.


def reproduced(figure, folder):
    study = figure_study(figure, preset="paper", quick=True)
    result = compare(study, folder, name=figure)
    assert not result["failed"]
    cells = read_results(folder / "results.csv")
    assert len(cells) == len(study)
    return result, Summary(study, cells)


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["figure-2", "figure-4"])
def test_statements_are_those_of_the_cells(figure, tmp_path):
    result, cells = reproduced(figure, tmp_path)
    again = [vars(statement) for statement in judge_statements(figure, cells)]
    assert result["statements"] == again
    assert len(again) == {"figure-2": 3, "figure-4": 2}[figure]
    if figure == "figure-4":
        for n in cells.study.interactions:
            differences = {
                name: cells.differences(name, "adversarial", n) for name in ("PRPO 1.0", "DR")
            }
            lost = {name: -sum(found.values()) for name, found in differences.items()}
            assert lost["PRPO 1.0"] < lost["DR"]
