"""PyClick (github.com/markovi/PyClick) as a rival, where it is installed.

The package of that name on PyPI is another one, which moves the mouse; PyClick is installed from
its repository. Calls were checked against its source, and tried on a shortened copy; the package
itself has not been run. Its inference is for Python 3 at commit 98e7e46 and was for Python 2 at
a3e505d. It takes 50 steps of EM, whatever they gain, and lists of at most ten documents.
"""

import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from cltr.types import ClickLog

CLASSES = {"pbm": "PBM", "ubm": "UBM"}
SESSIONS = 200
"""That it is measured on: its time a session does not depend on their number."""


def seconds_a_session(name: str, chunks: Sequence[ClickLog]) -> float | None:
    """Processor time in which PyClick fits a model; None where it does not have it or is absent."""
    if name not in CLASSES:
        return None
    try:
        module = importlib.import_module(f"pyclick.click_models.{CLASSES[name]}")
    except ImportError:
        return None
    sessions = _sessions(chunks)
    start = time.process_time()
    getattr(module, CLASSES[name])().train(sessions)
    return (time.process_time() - start) / len(sessions)


def _sessions(chunks: Sequence[ClickLog]) -> list[Any]:
    """The first sessions in PyClick's own form."""
    results = importlib.import_module("pyclick.search_session.SearchResult").SearchResult
    session_of = importlib.import_module("pyclick.search_session.SearchSession").SearchSession
    first = chunks[0]
    found = []
    for query, documents, clicks in zip(
        first.queries[:SESSIONS], first.documents, first.clicks, strict=False
    ):
        session = session_of(str(query))
        shown = np.flatnonzero(documents >= 0)
        session.web_results = [results(str(documents[k]), int(clicks[k])) for k in shown]
        found.append(session)
    return found
