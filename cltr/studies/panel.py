"""Run the safety panel: what each method gains and loses under each kind of users."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cltr.files.storage import finite, write_beside
from cltr.plugins import versions
from cltr.studies.panel_plot import draw_panel
from cltr.studies.panel_table import measure_of, method_lines, panel_rows, write_table
from cltr.studies.plots import save
from cltr.studies.portable_arithmetic import arithmetic
from cltr.studies.runner import Progressed, run_study
from cltr.studies.study import Study
from cltr.studies.summary import write_results

TABLE, SUMMARY = "panel.csv", "summary.json"


def run_panel(
    study: Study,
    folder: Path,
    *,
    workers: int | None = None,
    plugins: tuple[Path, ...] = (),
    cluster: str = "",
    on_progress: Callable[[Progressed], None] = lambda progressed: None,
) -> dict[str, Any]:
    """Run the panel, or what is missing of it; write results, table, summary and picture.

    Args:
        study: the panel, with methods of one's own if there are any.
        folder: takes the cells and all files; cells that are there are used.
        workers: processes; as many as there are cores by default.
        plugins: plugin files to load in workers.
        cluster: ``ray`` or ``ray://host:port``, to compute on a Ray cluster.
        on_progress: called now and then.
    """
    began = time.perf_counter()
    cells = run_study(
        study, folder, workers=workers, plugins=plugins, cluster=cluster, on_progress=on_progress
    )
    results = write_results(cells, folder)
    rows = panel_rows(study, cells)
    table = write_table(rows, folder / TABLE)
    pictures = save(draw_panel(study, rows), folder, "panel")
    failed = [cell for cell in cells if cell["status"] != "done"]
    result = {
        "title": study.title,
        "data": study.base.get("data", "demo"),
        "measure": measure_of(study),
        "interactions": study.interactions,
        "seeds": study.seeds,
        "methods": [vars(line) for line in method_lines(rows)],
        "rows": [vars(row) for row in rows],
        "failed": [
            {key: cell.get(key) for key in ("method", "users", "interactions", "seed", "error")}
            for cell in failed
        ],
        "arithmetic": arithmetic(),
        "versions": versions(),
        "cells": len(cells),
        "seconds": round(time.perf_counter() - began, 3),
        "results": str(results),
        "pictures": [str(table), *map(str, pictures)],
    }
    with write_beside(folder / SUMMARY, wait=True) as temporary:
        text = json.dumps(finite(result), indent=2, allow_nan=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")
    return result
