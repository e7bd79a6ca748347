"""Guards the site: every page has its place, links lead somewhere, made pages are current."""

import importlib.util
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from tests.report import browser as chromium

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
CONTROL = "\ue009"
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


def nav_pages() -> list[str]:
    """Pages in the order of the site; mkdocs.yml has one to a line."""
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    return re.findall(r"([\w/-]+\.md)\s*$", nav, re.M)


def test_every_page_has_one_place_in_the_site():
    assert sorted(nav_pages()) == [str(page) for page in PAGES]


@cache
def anchors(path: Path) -> set[str]:
    """Names of the headings of a page, as the site gives them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    bare = [re.sub(r"[^\w\s-]", "", title.lower()).strip() for title in titles]
    return {re.sub(r"[\s-]+", "-", title) for title in bare}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page):
    text = re.sub(r"^ *```.*?^ *```", "", (DOCS / page).read_text(), flags=re.S | re.M)
    for link in LINK.findall(text):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (DOCS / page).parent / name if name else DOCS / page
        assert target.exists(), f"{page}: {link} leads nowhere"
        assert DOCS in target.resolve().parents, f"{page}: {link} is not part of the site"
        if anchor:
            assert anchor in anchors(target), f"{page}: {link}: no such heading"


def test_reference_pages_are_current():
    spec = importlib.util.spec_from_file_location("reference_pages", DOCS / "reference_pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    for name, page in pages.PAGES.items():
        assert (DOCS / "reference" / name).read_text() == page(), (
            f"docs/reference/{name} is not current; run: python docs/reference_pages.py"
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What building the site prints, and the site."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is not installed; make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    words = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr, folder / "site"


def test_the_site_is_built_without_a_warning(built):
    told, site = built
    assert "No issues found" in told
    assert (site / "tutorials" / "shop.html").exists()


@pytest.mark.skipif(chromium.MISSING, reason=chromium.WHY)
def test_search_works_from_the_file_system_without_a_network(built, tmp_path):
    page = built[1] / "reference" / "components.html"
    texts = "return [...document.querySelectorAll('*')].map(e => e.shadowRoot?.textContent).join()"
    with chromium.browser(tmp_path / "profile") as tab:
        tab.open(page)
        tab.type("k", held=CONTROL)
        tab.type("rollback")
        found = None
        for _ in range(300):
            if found := re.search(r"(\d+) results", tab.script(texts)):
                break
            time.sleep(0.1)
        assert found and int(found[1]) > 5
        assert [one for one in tab.requests() if re.match("https?:", one)] == []
