"""Draw the pictures of the pages: python docs/draw_pictures.py.

The ``.svg`` files are drawings: architecture, pipeline, clip, levels. ``pictures/ramp.png`` shows
docs/ramp-shares.csv, a row for each look at a canary; ``--measure`` simulates these canaries again.
``pictures/defaults.png`` is drawn by ``python -m tests.safety_tables --finished``, and
``pictures/difference.png`` by ``python docs/fill_panel.py``.
"""

import argparse
import csv
import sys
from collections import defaultdict
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
PICTURES, SHARES = DOCS / "pictures", DOCS / "ramp-shares.csv"
STYLE = """<style>
text{font:14px system-ui,sans-serif;fill:#1f2933}.s{font-size:12px;fill:#52606d}
.m{text-anchor:middle}.b{fill:#f5f7fa;stroke:#7b8794}.a{stroke:#7b8794;fill:none;marker-end:url(#h)}
.up{stroke:#2a78d6;fill:none;stroke-width:3}.down{stroke:#c2410c;fill:none;stroke-width:3}
.d{stroke:#7b8794;stroke-dasharray:4 4;fill:none}.band{fill:#2a78d6;opacity:.12}
.p{fill:#fff}.l0{fill:#009e73}.l1{fill:#e69f00}.l2{fill:#0072b2}
@media (prefers-color-scheme:dark){text{fill:#f5f7fa}.s{fill:#cbd2d9}.b{fill:#323f4b;stroke:#9aa5b1}
.a,.d{stroke:#9aa5b1}#h path{fill:#9aa5b1}.up{stroke:#6aa9f4}.down{stroke:#f08a5d}.p{fill:#1f2933}
.l2{fill:#56b4e9}}
</style><defs><marker id="h" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
orient="auto"><path d="M0 0 8 4 0 8z" fill="#7b8794"/></marker></defs>"""
CASES = (
    ("as modelled", "better", "clicks", "a better ranker"),
    ("as modelled", "worse", "clicks", "a worse ranker"),
    ("adversarial", "learned", "clicks", "learned from adversarial clicks"),
)
"""Users, new ranker, outcome, and what to call it."""
RAMPS, STEPS, STEP = 20, 12, 5_000


def svg(width: int, height: int, title: str, description: str, body: str) -> str:
    """A whole picture, with words for those who do not see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="t d"><title id="t">{escape(title)}</title>'
        f'<desc id="d">{escape(description)}</desc>'
    )
    page = f'<rect class="p" width="{width}" height="{height}" rx="6"/>'  # under any page's colour
    return f"{head}{STYLE}{page}{body}</svg>\n"


def _box(x: float, y: float, width: float, title: str, *lines: str) -> str:
    height = 32 + 16 * len(lines)
    found = f'<rect class="b" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'
    found += f'<text class="m" x="{x + width / 2}" y="{y + 21}">{escape(title)}</text>'
    for number, line in enumerate(lines):
        place = f'x="{x + width / 2}" y="{y + 39 + 16 * number}"'
        found += f'<text class="s m" {place}>{escape(line)}</text>'
    return found


def architecture() -> str:
    """The folders, in the order in which a click goes through them."""
    stages = [
        ("objectives/", "reward: clicks become μ(d); estimator: the gain"),
        ("training/", "batches, slopes, gradients, steps of the model"),
        ("policies/", "scores become rankings, with expected weights ω(d)"),
        ("evaluation/", "metrics, estimates from clicks, the certificate"),
    ]
    body = _box(20, 10, 220, "logs/", "read, clean and count a log")
    body += _box(260, 10, 220, "clicks/", "simulate users, fit click models")
    body += _box(500, 10, 220, "data/", "queries, documents, features")
    body += '<path class="a" d="M130 58V82H300V104"/><path class="a" d="M370 58V104"/>'
    body += '<path class="a" d="M610 58V82H440V104"/>'
    body += _box(170, 106, 400, "exposure/", "how often production showed each document: ω₀, ρ₀")
    y = 106
    for title, line in stages:
        body += f'<path class="a" d="M370 {y + 48}v16"/>'
        y += 66
        body += _box(170, y, 400, title, line)
    body += f'<path class="a" d="M370 {y + 48}v16"/>'
    y += 66
    body += _box(20, y, 220, "report/", "tables and the HTML page")
    body += _box(260, y, 220, "serving/", "the rule that serves rankings")
    body += _box(500, y, 220, "exporters/", "ONNX, Solr, OpenSearch, JSON")
    side = y - 14 - 106
    body += f'<rect class="b" x="20" y="106" width="130" height="{side}" rx="6"/>'
    words = (
        "experiment/",
        "knows the order",
        "of the stages",
        "",
        "health/, checks/",
        "may the log",
    )
    for number, word in enumerate((*words, "be used?")):
        css = "m" if word.endswith("/") and " " not in word else "s m"
        body += f'<text class="{css}" x="85" y="{190 + 18 * number}">{word}</text>'
    body += f'<rect class="b" x="590" y="106" width="130" height="{side}" rx="6"/>'
    words = (
        "plugins",
        "rewards,",
        "estimators, rankers,",
        "scorers,",
        "click models,",
        "log readers, …",
    )
    for number, word in enumerate(words):
        css = "m" if not number else "s m"
        body += f'<text class="{css}" x="655" y="{200 + 18 * number}">{word}</text>'
    y += 62
    body += _box(20, y, 700, "cli/, api/, studies/", "commands and functions that call all this")
    y += 62
    body += _box(
        20,
        y,
        700,
        "contracts/, interfaces, types, options, files/, kernels/",
        "what everybody shares",
    )
    return svg(
        740,
        y + 58,
        "The folders of cltr",
        "A log, simulated clicks and data flow through exposure, objectives, training, policies "
        "and evaluation to report, serving and exporters.",
        body,
    )


def clip() -> str:
    """What PRPO rewards, by how far a document moves."""
    body = ""
    for left, css, title, line in (
        (30, "up", "positive reward", "no reward for rising above ε₊ω₀"),
        (390, "down", "negative reward", "no reward for falling below ε₋ω₀"),
    ):
        low, middle, high = left + 90, left + 150, left + 210
        body += f'<rect class="band" x="{low}" y="50" width="{high - low}" height="160"/>'
        body += (
            f'<path class="a" d="M{left} 210H{left + 310}"/><path class="a" d="M{left} 210V40"/>'
        )
        for x, name in ((low, "ε₋ω₀"), (middle, "ω₀"), (high, "ε₊ω₀")):
            body += (
                f'<path class="d" d="M{x} 210V50"/><text class="s m" x="{x}" y="228">{name}</text>'
            )
        if css == "up":
            body += f'<path class="up" d="M{left} 200L{high} 90H{left + 300}"/>'
        else:
            body += f'<path class="down" d="M{left} 90H{low}L{left + 300} 200"/>'
        body += f'<text x="{left}" y="14">{title}</text>'
        body += f'<text class="s" x="{left}" y="31">{line}</text>'
        body += f'<text class="s m" x="{middle}" y="248">weight ω of the document</text>'
        body += f'<text class="s" x="{left + 6}" y="60">gain</text>'
    body = f'<g transform="translate(0 8)">{body}</g>'
    return svg(
        730,
        270,
        "PRPO rewards a move only up to its clip",
        "With a positive reward the gain rises with the weight of the document up to the upper "
        "bound and is flat beyond it. With a negative reward the gain rises as the weight falls, "
        "down to the lower bound, and is flat below it.",
        body,
    )


def pipeline() -> str:
    """The way from clicks to a verdict, and back to the next log."""
    stages = (
        ("log", "clicks on what", "production showed"),
        ("reward", "clicks become", "relevance μ(d)"),
        ("estimator", "gain of weights:", "PRPO, plain, band"),
        ("ranker", "gradients", "of the gain"),
        ("policy", "rankings by scores,", "weights ω(d)"),
        ("verdict", "certificate, bounds,", "deploy or not"),
    )
    body = ""
    for number, (title, *lines) in enumerate(stages):
        x = 10 + 150 * number
        body += _box(x, 14, 132, title, *lines)
        if number:
            body += f'<path class="a" d="M{x - 18} 46h16"/>'
    body += '<path class="a" d="M826 78V112H76V81"/>'
    words = "what is served makes the next log, with exposure known exactly"
    body += f'<text class="s m" x="451" y="132">{words}</text>'
    return svg(
        902,
        146,
        "From clicks to a verdict",
        "A log gives a reward, an estimator weighs it, a ranker learns a policy, and a verdict "
        "decides; what is served makes the next log.",
        body,
    )


def levels() -> str:
    """What must be right for each level of trust, and what it gives; the most certain below."""
    rows = (
        (2, 730, "the click model holds", "estimated gain and its lower bound, from the log"),
        (1, 590, "clicks on what was shown mean something", "who won the canary, at every look"),
        (0, 450, "nothing about users", "how far NDCG can fall at worst"),
    )
    body = ""
    for number, (level, width, title, line) in enumerate(rows):
        y = 10 + 78 * number
        body += f'<rect class="b" x="10" y="{y}" width="{width}" height="66" rx="6"/>'
        body += f'<rect class="l{level}" x="10" y="{y}" width="8" height="66"/>'
        body += f'<text x="32" y="{y + 27}">Level {level}: {title}</text>'
        body += f'<text class="s" x="32" y="{y + 48}">{line}</text>'
    body += '<text class="s" x="476" y="196">lower: fewer assumptions</text>'
    body += '<text class="s" x="476" y="212">higher: sharper numbers</text>'
    return svg(
        750,
        242,
        "Three levels of trust",
        "Level 0 assumes nothing about users and bounds the worst loss. Level 1 needs a canary. "
        "Level 2 needs the click model.",
        body,
    )


DRAWINGS = {"architecture": architecture, "clip": clip, "levels": levels, "pipeline": pipeline}


def measure() -> None:
    """Simulate the canaries of the picture."""
    import tempfile

    sys.path.insert(0, str(DOCS.parent / "examples"))
    import ramp as ramps

    with (
        SHARES.open("w", newline="", encoding="utf-8") as file,
        tempfile.TemporaryDirectory() as at,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["users", "new ranker", "outcome", "ramp", "requests", "share"])
        for users, kind, outcome, _ in CASES:
            case = ramps.prepare(users, Path(at), kind=kind)
            for seed in range(RAMPS):
                options = {"step": STEP, "steps": STEPS, "trusted": case.healthy}
                path = ramps.ramp(case, seed, outcome=outcome, **options)
                for look, share in enumerate(path):
                    row = [users, kind, outcome, seed, look * STEP, f"{share:.6f}"]
                    writer.writerow(row)


def ramp(path: Path = PICTURES / "ramp.png") -> None:
    """Shares of the requests while canaries run."""
    from matplotlib.figure import Figure

    from cltr.looks import SERIES

    paths: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    with SHARES.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["users"], row["new ranker"], row["outcome"], row["ramp"])
            paths[key].append((int(row["requests"]) / 1000, 100 * float(row["share"])))
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for axes, (*case, title) in zip(figure.subplots(1, 3, sharey=True), CASES, strict=True):
        for key, points in paths.items():
            if list(key[:3]) == case:
                ended = points[-1][1] in (0.0, 100.0)
                xs = [x for x, _ in points] + ([STEP * STEPS / 1000] if ended else [])
                ys = [y for _, y in points] + ([points[-1][1]] if ended else [])
                axes.step(xs, ys, where="post", color=SERIES[0], alpha=0.35, linewidth=1.4)
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_xlabel("requests (thousands)")
        axes.set_ylim(-3, 103)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.axes[0].set_ylabel("share of the requests (%)")
    figure.savefig(path, dpi=130)


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="simulate the canaries again")
    arguments = parser.parse_args()
    for name, drawing in DRAWINGS.items():
        (PICTURES / f"{name}.svg").write_text(drawing(), encoding="utf-8")
    if arguments.measure:
        measure()
    if SHARES.exists():
        ramp()


if __name__ == "__main__":
    main()
