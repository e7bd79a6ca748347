"""What ``cltr compare`` and ``cltr reproduce`` do from start to end, into one folder."""

import csv
import time
from pathlib import Path
from typing import Any, Unpack

from cltr.data import loading
from cltr.files.reserving import reserve_in
from cltr.files.storage import write_beside
from cltr.studies.clipping_figure import clipped_ratios, draw_clipping
from cltr.studies.figures import published_curves
from cltr.studies.plots import draw_study, save
from cltr.studies.runner import Running, run_study
from cltr.studies.statements import judge_statements
from cltr.studies.study import Study
from cltr.studies.summary import Summary, write_results
from cltr.studies.summary_file import write_summary


def compare(
    study: Study, folder: Path, *, name: str = "comparison", **how: Unpack[Running]
) -> dict[str, Any]:
    """Run a study, or what is missing of it; write results, summary and picture.

    Args:
        study: what to compare.
        folder: takes ``study.toml``, ``cells/``, ``results.csv``, ``summary.json`` and the picture.
        name: of the picture, without its suffix; that of a figure of the paper has statements.
        how: passed on to :func:`cltr.studies.runner.run_study`.
    """
    began = time.perf_counter()
    rows = run_study(study, folder, **how)
    write_results(rows, folder)
    summary = Summary(study, rows)
    published = published_curves(study.curves, _data_name(study)) if study.curves else {}
    pictures = save(draw_study(summary, published=published), folder, name)
    found = {
        **summary.plain(),
        "cells": len(rows),
        "statements": [vars(found) for found in judge_statements(name, summary)],
        "pictures": [str(path) for path in pictures],
    }
    return write_summary(study, folder, found, began=began)


def _data_name(study: Study) -> str:
    return loading.load_dataset(study.base.get("data", "demo")).name


def clipping_figure(folder: Path, ranks: tuple[int, ...]) -> dict[str, Any]:
    """Figure 1: its numbers as a file, and its picture."""
    rows = clipped_ratios(ranks)
    path = folder / "figure-1.csv"
    with reserve_in(folder, path.name):
        with write_beside(path) as temporary, temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        pictures = save(draw_clipping(rows), folder, "figure-1")
    return {"rows": rows, "results": str(path), "pictures": [str(p) for p in pictures]}
