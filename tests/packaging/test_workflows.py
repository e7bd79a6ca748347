"""Guards what a public repository reads: workflows and templates are whole and name what exists."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))


def steps(path: Path) -> list[dict]:
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    assert all("timeout-minutes" in job for job in jobs), path.name
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_commands_of_workflows_exist(path):
    commands = [step["run"] for step in steps(path) if "run" in step]
    assert commands
    for command in commands:
        program, *words = command.split()
        if program == "make":
            assert words[0] in TARGETS, command
        elif program == "bash":
            assert (ROOT / words[0]).exists(), command
        else:
            assert program == "test", command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_a_python_that_cltr_supports(path):
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    least = tuple(int(part) for part in needed.removeprefix(">=").split("."))
    found = re.findall(r'"(3\.\d+)"', path.read_text())
    assert found
    assert all(tuple(int(part) for part in one.split(".")) >= least for one in found)


def test_torch_is_installed_by_its_exact_version_everywhere():
    (version,) = re.findall(r"^torch==[\d.]+$", (ROOT / "constraints.txt").read_text(), re.M)
    texts = [ROOT / "Makefile", ROOT / ".ci" / "release.py", ROOT / "README.md"]
    for path in texts:
        assert set(re.findall(r"torch==[\d.]+", path.read_text())) == {version}, path.name


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_have_a_name_and_name_files_that_exist(path):
    _, head, body = path.read_text().split("---\n", 2)
    assert set(yaml.safe_load(head)) >= {"name", "about"}
    for name in re.findall(r"`(docs/[\w/.-]+)`", body):
        assert (ROOT / name).exists(), name


def test_the_citation_names_the_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["license"] == "Apache-2.0"
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Paper"] == f"https://doi.org/{cited['references'][0]['doi']}"


def test_the_tests_have_every_engine():
    """Else the tests of Spark, Ray and sqlglot are skipped, and nobody notices."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for engine in ("spark", "ray", "sql"):
        assert set(extras[engine]) <= set(extras["test"]), engine
    assert "jre" in (ROOT / ".ci" / "run").read_text()
