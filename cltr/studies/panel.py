"""Run the safety panel: what each method gains and loses under each kind of users."""

import time
from pathlib import Path
from typing import Any, Unpack

from cltr.studies.panel_plot import draw_panel
from cltr.studies.panel_table import measure_of, method_lines, panel_rows, write_table
from cltr.studies.plots import save
from cltr.studies.runner import Running, run_study
from cltr.studies.study import Study
from cltr.studies.summary import write_results
from cltr.studies.summary_file import write_summary

TABLE = "panel.csv"


def run_panel(study: Study, folder: Path, **how: Unpack[Running]) -> dict[str, Any]:
    """Run the panel, or what is missing of it; write results, table, summary and picture.

    Args:
        study: the panel, with methods of one's own if there are any.
        folder: takes the cells and all files; cells that are there are used.
        how: passed on to :func:`cltr.studies.runner.run_study`.
    """
    began = time.perf_counter()
    cells = run_study(study, folder, **how)
    write_results(cells, folder)
    rows = panel_rows(study, cells)
    table = write_table(rows, folder / TABLE)
    pictures = save(draw_panel(study, rows), folder, "panel")
    failed = [cell for cell in cells if cell["status"] != "done"]
    found = {
        "title": study.title,
        "measure": measure_of(study),
        "interactions": study.interactions,
        "seeds": study.seeds,
        "methods": [vars(line) for line in method_lines(rows)],
        "rows": [vars(row) for row in rows],
        "failed": [
            {key: cell.get(key) for key in ("method", "users", "interactions", "seed", "error")}
            for cell in failed
        ],
        "cells": len(cells),
        "pictures": [str(table), *map(str, pictures)],
    }
    return write_summary(study, folder, found, began=began)
