"""Pages in a real browser: nothing is fetched, nothing overflows, all can be read and heard."""

import json
import shutil

import pytest

import cltr
from tests import small
from tests.report import browser as chromium

pytestmark = pytest.mark.skipif(chromium.MISSING, reason=chromium.WHY)

HOSTILE = {
    "script": "<script>document.title='broken'</script>",
    "markup": "[red]loud[/red] <b>&amp;</b>",
    "quotes": "\"'`--><style>",
    "long": "x" * 10_000,
    "right to left": "שלום\u202e עולם",
}


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium.browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on a few queries that learned something."""
    choices = {key: small.CHOICES[key] for key in ("interactions", "skyline")}
    options = {"scorer.hidden": [6], "training.epochs": 4, "production.epochs": 2}
    out = tmp_path_factory.mktemp("runs") / "run"
    return cltr.train(
        data=small.dataset(),
        reward="ips",
        on_doubt="bound",
        out=out,
        options=options,
        progress=False,
        **choices,
    ).path


@pytest.fixture(scope="module")
def hostile(run, tmp_path_factory):
    """The same with names that try to leave their place."""
    path = tmp_path_factory.mktemp("hostile") / "run"
    shutil.copytree(run, path)
    changes = json.loads((path / "changes.json").read_text())
    names = list(HOSTILE.values())
    for queries in (changes["by_traffic"], changes["by_risk"]):
        for query, name in zip(queries, names, strict=False):
            query["query"] = name
            for document, other in zip(query["documents"], names, strict=False):
                document["document"] = other
    result = json.loads((path / "result.json").read_text())
    result["assumptions"] = names
    (path / "changes.json").write_text(json.dumps(changes))
    (path / "result.json").write_text(json.dumps(result))
    cltr.make_report(path)
    return path


@pytest.fixture(params=["run", "hostile"])
def page(request):
    return request.getfixturevalue(request.param) / "report.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_overflows_is_fetched_or_complains(tab, page, width, scheme):
    tab.size(width)
    tab.scheme(scheme)
    tab.requests()
    tab.open(page)
    tab.script("for (const one of document.querySelectorAll('details')) one.open = true")
    assert tab.script("return document.documentElement.scrollWidth") <= width
    assert tab.console() == []
    own = ("data:", "about:", "chrome:")  # also of the browser's first tab, which may load late
    fetched = {one for one in tab.requests() if not one.startswith(own)}
    assert fetched <= {page.as_uri()}
    assert tab.script("return document.scripts.length") == 0


def test_the_page_can_be_heard(tab, page):
    tab.size(1280)
    tab.open(page)
    nodes = tab.accessible()
    named = {(one["role"], one["name"]) for one in nodes}
    for title in ("Verdict", "Quality and risk", "What changes for users", "How it was made"):
        assert ("heading", title) in named
    roles = [one["role"] for one in nodes]
    for role in ("banner", "main", "contentinfo", "navigation", "region"):
        assert role in roles
    assert roles.count("table") >= 5 and {"columnheader", "rowheader"} <= set(roles)
    pictures = [one["name"] for one in nodes if one["role"] in ("image", "img")]
    assert pictures and all(pictures)
    assert all(one["name"] for one in nodes if one["role"] == "table")


CONTRAST = """
const numbers = (css) => css.match(/[\\d.]+/g).map(Number);
const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
  .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const below = (one) => {
  for (let e = one; e; e = e.parentElement) {
    const c = numbers(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
const weak = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const one = walker.currentNode.parentElement;
  const words = walker.currentNode.data.trim();
  if (!words || ['title', 'desc'].includes(one.tagName)) continue;  // heard, not seen
  const style = getComputedStyle(one), svg = one.ownerSVGElement;
  const ink = light(numbers(svg ? style.fill : style.color)), ground = light(below(one));
  const pair = [ink, ground].sort((a, b) => b - a);
  const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
  if (ratio < 4.5) weak.push([one.tagName, words.slice(0, 30), ratio]);
}
return weak;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(tab, run, scheme):
    tab.size(1280)
    tab.scheme(scheme)
    tab.open(run / "report.html")
    assert tab.script(CONTRAST) == []
    ground = tab.script("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(18, 24, 31)"}[scheme]


def test_hostile_names_are_text(tab, hostile):
    tab.open(hostile / "report.html")
    words = tab.script("return document.body.textContent")
    assert tab.script("return document.title").startswith("Run ")
    for name in ("script", "markup", "quotes"):
        assert HOSTILE[name] in words
    assert "(10,000 characters)" in words and "x" * 5_000 not in words
    assert "שלום\ufffd עולם" in words


def test_a_notebook_shows_the_page_in_a_frame(tab, run, tmp_path):
    (tmp_path / "notebook.html").write_text(cltr.load(run).report()._repr_html_())
    tab.open(tmp_path / "notebook.html")
    assert (
        tab.script("return document.querySelector('iframe').srcdoc")
        == (run / "report.html").read_text()
    )
    assert tab.console() == []
