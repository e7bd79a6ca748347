"""Guards what ``make release`` writes into the packages: true addresses, and nothing half done."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECTS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]
SOURCE = "https://example.org/owner/cltr"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.parent.name)
def test_public_addresses_join_those_of_the_paper(script, path):
    before = tomllib.loads(path.read_text())["project"]["urls"]
    assert before["Paper"] == "https://doi.org/10.1145/3627673.3679531"
    written = script.with_urls(path.read_text(), script.project_urls(SOURCE, "1.2.3"))
    after = tomllib.loads(written)["project"]["urls"]
    assert after == before | {
        "Source": SOURCE,
        "Documentation": f"{SOURCE}/blob/v1.2.3/docs/index.md",
        "Issues": f"{SOURCE}/issues",
        "Changelog": f"{SOURCE}/blob/v1.2.3/CHANGELOG.md",
    }


def test_a_project_without_a_table_of_addresses_is_refused(script):
    with pytest.raises(script.Failed, match="no table"):
        script.with_urls("[project]\n", {"Source": SOURCE})


@pytest.mark.parametrize("wrong", ["cltr", "http://example.org/owner/cltr", "https://example.org"])
def test_what_is_no_address_is_refused(script, wrong):
    with pytest.raises(script.Failed, match=f"SOURCE is '{wrong}'"):
        script.project_urls(wrong, "1.2.3")


def test_a_slash_at_the_end_changes_nothing(script):
    assert script.project_urls(SOURCE + "/", "1.2.3") == script.project_urls(SOURCE, "1.2.3")


def test_links_of_the_readme_work_on_the_page_of_a_package_index(script):
    page = (
        "![a picture](docs/a.png), [a page](docs/b.md), [paper](https://arxiv.org/abs/1), [x](#y)"
    )
    assert script.with_absolute_links(page, SOURCE, "1.2.3") == (
        f"![a picture]({SOURCE}/raw/v1.2.3/docs/a.png), [a page]({SOURCE}/blob/v1.2.3/docs/b.md), "
        "[paper](https://arxiv.org/abs/1), [x](#y)"
    )


def test_a_failure_leaves_nothing_and_edits_nothing(script, tmp_path, monkeypatch, capsys):
    """A copy of a checkout whose first package cannot be built."""
    root, temporary = tmp_path / "checkout", tmp_path / "temporary"
    (root / "dist").mkdir(parents=True)
    (root / "dist" / "old.whl").write_text("of an older release")
    temporary.mkdir()
    texts = {"VERSION": "1.2.3\n", "README.md": "[a](b.md)", "pyproject.toml": "[project.urls]\n"}
    for name, text in texts.items():
        (root / name).write_text(text)
    monkeypatch.setattr(script, "ROOT", root)
    monkeypatch.setattr(script, "DIST", root / "dist")
    monkeypatch.setattr(script.tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(script.sys, "argv", ["release.py", "--source", SOURCE])

    def broken(*words, cwd):
        assert SOURCE in (cwd / "source" / "README.md").read_text()
        raise script.Failed("no compiler")

    monkeypatch.setattr(script, "run", broken)
    assert script.main() == 1
    assert "failed, nothing is left in dist/: no compiler" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in root.iterdir()} == texts
    assert not list(temporary.iterdir())
