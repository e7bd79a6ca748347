"""What ``cltr check`` and ``cltr fit`` say about two public logs: docs/public-logs.md.

    python -m tests.public_logs DATA

reads ``yandex-relpred/train.tsv.gz`` and ``trec-session-2014/{train,valid}.tsv.gz`` in the folder
DATA (columns session, query, position, doc, click), writes docs/public-logs.json and the tables and
pictures of the page. Without DATA it only writes the tables again.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import cltr
from tests.page_tables import write_table

DOCS = Path(__file__).parents[1] / "docs"
RESULTS, PAGE = DOCS / "public-logs.json", DOCS / "public-logs.md"
LOGS = {
    "yandex": {"paths": "yandex-relpred/train.tsv.gz", "test_share": 0},
    "trec": {
        "paths": "trec-session-2014/train.tsv.gz",
        "valid": "trec-session-2014/valid.tsv.gz",
    },
}
TITLES = {"yandex": "Yandex", "trec": "TREC sessions"}
USES = ("position-bias", "evaluation", "training")
RANKS = (1, 5, 10)


def measure(data: Path) -> dict[str, Any]:
    """Answers and models of each log."""
    found: dict[str, Any] = {}
    for name, options in LOGS.items():
        files = {key: data / value for key, value in options.items() if isinstance(value, str)}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.h5"
            share = {"test_share": options["test_share"]} if "test_share" in options else {}
            log = cltr.ingest(
                files["paths"],
                out=path,
                sessions=True,
                **({"valid": [files["valid"]]} if "valid" in files else {}),
                **share,
            )
            check = cltr.check(log)
            picture = DOCS / f"click-models-{name}.png"
            fitted = cltr.fit(log, out=Path(folder) / "models", plot=picture)
            found[name] = {
                "verdicts": {
                    use: [check.verdicts[use].answer, check.verdicts[use].reason] for use in USES
                },
                "interactions": fitted.report["n_interactions"],
                "queries": fitted.report["queries"],
                "models": [_model(one) for one in fitted.report["models"]],
                "all pairs": fitted.report["harvested"]["all_pairs"],
            }
    return found


def _model(report: dict[str, Any]) -> dict[str, Any]:
    keys = ("name", "log_likelihood", "against_winner", "perplexity", "conditional_perplexity")
    keys += ("conditional_perplexity_by_rank", "converged", "examination", "affine")
    return {key: report[key] for key in keys}


def answers(found: dict[str, Any]) -> str:
    """The table of what each log can be used for."""
    lines = ["| log | use | possible? | because |", "| --- | --- | --- | --- |"]
    for name, result in found.items():
        for use, (answer, reason) in result["verdicts"].items():
            lines.append(f"| {TITLES[name]} | {use} | {answer} | {reason} |")
    return "\n".join(lines)


def models(result: dict[str, Any]) -> str:
    """The table of the models of one log, the best first."""
    ranks = [rank for rank in RANKS if rank <= len(result["models"][0]["examination"] or RANKS)]
    heads = ["model", "log-likelihood a list", "behind the best", "perplexity"]
    heads += ["given clicks above", *(f"at rank {rank}" for rank in ranks)]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for one in result["models"]:
        behind = one["against_winner"]
        cells = [
            f"`{one['name']}`" + ("" if one["converged"] else ", not converged"),
            f"{one['log_likelihood']:.3f}",
            f"{-behind['value']:.3f} ± {behind['standard_error']:.3f}" if behind["value"] else "0",
            f"{one['perplexity']:.4f}",
            f"{one['conditional_perplexity']:.4f}",
            *(f"{one['conditional_perplexity_by_rank'][rank - 1]:.3f}" for rank in ranks),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def examination(found: dict[str, Any]) -> str:
    """Examination by rank: of the position-based model, and without a model of relevance."""
    ranks = range(1, 11)
    lines = ["| log | by | " + " | ".join(f"rank {rank}" for rank in ranks) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(ranks))
    for name, result in found.items():
        pbm = next(one for one in result["models"] if one["name"] == "pbm")
        for by, values in (("`pbm`", pbm["examination"]), ("all pairs", result["all pairs"])):
            cells = " | ".join(f"{value:.2f}" for value in values)
            lines.append(f"| {TITLES[name]} | {by} | {cells} |")
    return "\n".join(lines)


def tables(found: dict[str, Any]) -> dict[str, str]:
    """All tables of the page, by name."""
    of_logs = {name: models(one) for name, one in found.items()}
    return {"answers": answers(found), "examination": examination(found)} | of_logs


def main() -> None:
    """Measure, and write the results and the tables."""
    if len(sys.argv) > 1:
        found = measure(Path(sys.argv[1]))
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, table in tables(json.loads(RESULTS.read_text(encoding="utf-8"))).items():
        write_table(PAGE, name, table)


if __name__ == "__main__":
    main()
