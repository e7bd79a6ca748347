"""Click models: processor time per session of counting and fitting together."""

import time

import numpy as np
import pytest

from cltr.clicks.fit_tools import add_up
from cltr.plugins import registry
from tests.benchmarks import clickmodels, pyclick_rival

SESSIONS = 100_000


@pytest.fixture(scope="module")
def sessions():
    dataset = clickmodels.random_lists(500, 20)
    return dataset, clickmodels.sessions(dataset, SESSIONS)


@pytest.mark.parametrize(("name", "options"), clickmodels.MODELS, ids=str)
def bench_fit(contest, sessions, name, options):
    """PyClick fits some of the same sessions beside it, where it is installed."""
    dataset, chunks = sessions
    spent = []
    for _ in range(2):
        model = registry().find("click-model", name)(**options)
        start = time.process_time()
        model.fit(add_up(model.count(chunk, dataset.offsets) for chunk in chunks), dataset)
        spent.append(time.process_time() - start)
    seconds = float(np.min(spent)) / SESSIONS
    rival = None if options else pyclick_rival.seconds_a_session(name, chunks)
    label = name + "".join(f", {key}={value}" for key, value in options.items())
    contest.done(
        stage=f"fit, `{label}`",
        work="per session of 10 documents",
        ours=seconds,
        against=f"PyClick {1000 * rival:.1f} ms" if rival else "",
        ratio=seconds / rival if rival else None,
    )
