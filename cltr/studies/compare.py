"""What ``cltr compare`` and ``cltr reproduce`` do from start to end, into one folder."""

import csv
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cltr.data import loading
from cltr.files.storage import finite, make_folder, write_beside
from cltr.plugins import versions
from cltr.studies.clipping_figure import clipped_ratios, draw_clipping
from cltr.studies.figures import published_curves
from cltr.studies.plots import draw_study, save
from cltr.studies.portable_arithmetic import arithmetic
from cltr.studies.runner import Progressed, run_study
from cltr.studies.statements import judge_statements
from cltr.studies.study import Study
from cltr.studies.summary import RESULTS, Summary, write_results

SUMMARY = "summary.json"


def compare(
    study: Study,
    folder: Path,
    *,
    name: str = "comparison",
    workers: int | None = None,
    plugins: tuple[Path, ...] = (),
    cluster: str = "",
    on_progress: Callable[[Progressed], None] = lambda progressed: None,
) -> dict[str, Any]:
    """Run a study, or what is missing of it; write results, summary and picture.

    Args:
        study: what to compare.
        folder: takes ``study.toml``, ``cells/``, ``results.csv``, ``summary.json`` and the picture.
        name: of the picture, without its suffix; that of a figure of the paper has statements.
        workers: processes; as many as there are cores by default.
        plugins: plugin files to load in workers.
        cluster: ``ray`` or ``ray://host:port``, to compute on a Ray cluster.
        on_progress: called now and then.
    """
    began = time.perf_counter()
    rows = run_study(
        study, folder, workers=workers, plugins=plugins, cluster=cluster, on_progress=on_progress
    )
    write_results(rows, folder)
    summary = Summary(study, rows)
    published = published_curves(study.curves, _data_name(study)) if study.curves else {}
    pictures = save(draw_study(summary, published=published), folder, name)
    result = summary.plain() | {
        "data": study.base.get("data", "demo"),
        "arithmetic": arithmetic(),
        "versions": versions(),
        "cells": len(rows),
        "statements": [vars(found) for found in judge_statements(name, summary)],
        "seconds": round(time.perf_counter() - began, 3),
        "results": str(folder / RESULTS),
        "pictures": [str(path) for path in pictures],
    }
    _write(folder / SUMMARY, json.dumps(finite(result), indent=2, allow_nan=False) + "\n")
    return result


def _data_name(study: Study) -> str:
    return loading.load_dataset(study.base.get("data", "demo")).name


def clipping_figure(folder: Path, ranks: tuple[int, ...]) -> dict[str, Any]:
    """Figure 1: its numbers as a file, and its picture."""
    rows = clipped_ratios(ranks)
    make_folder(folder)
    path = folder / "figure-1.csv"
    with write_beside(path, wait=True) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    pictures = save(draw_clipping(rows), folder, "figure-1")
    return {"rows": rows, "results": str(path), "pictures": [str(p) for p in pictures]}


def _write(path: Path, text: str) -> None:
    with write_beside(path, wait=True) as temporary:
        temporary.write_text(text, encoding="utf-8")
