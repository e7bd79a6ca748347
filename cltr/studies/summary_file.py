"""The file in which a study says what came out, and how it was made."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cltr.files.storage import finite, write_beside
from cltr.plugins import versions
from cltr.studies.portable_arithmetic import arithmetic
from cltr.studies.study import Study
from cltr.studies.summary import RESULTS

SUMMARY = "summary.json"


def write_summary(
    study: Study, folder: Path, found: Mapping[str, Any], *, began: float
) -> dict[str, Any]:
    """Write what was found, with data, versions, arithmetic and time beside it.

    Args:
        study: that was run.
        folder: of the study.
        found: what came out.
        began: when, by ``time.perf_counter``.
    """
    result = {
        **found,
        "data": study.base.get("data", "demo"),
        "arithmetic": arithmetic(),
        "versions": versions(),
        "seconds": round(time.perf_counter() - began, 3),
        "results": str(folder / RESULTS),
    }
    with write_beside(folder / SUMMARY, wait=True) as temporary:
        text = json.dumps(finite(result), indent=2, allow_nan=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")
    return result
