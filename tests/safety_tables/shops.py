"""What the plain command makes of a shop's tables, beside the truth.

    python -m tests.safety_tables.shops --seeds 100
    python -m tests.safety_tables.shops --variants 3 --seeds 20

writes docs/defaults-shop.csv (``-sorted`` with variants), and resumes where it was interrupted.
"""

import argparse
import csv
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cltr.data.importing import import_dataset
from cltr.experiment import train_run
from cltr.experiment.components import compose
from cltr.experiment.config import CURRENT, resolve
from cltr.experiment.progress import Progress
from cltr.experiment.provenance import open_data
from cltr.experiment.run_log import fit_to_log
from cltr.experiment.safe_run import SafeRun, run_safely
from cltr.types import Floats, Rewards
from tests.safety_tables.page import DOCS
from tests.safety_tables.shop import Shop, open_shop


class Sold(NamedTuple):
    """What was said of a shop's new ranker, and what is true."""

    seed: int
    verdict: str
    plan: str
    estimate: float
    low: float
    high: float
    truth: float
    """The gain under the estimate's own queries, traffic and metric, with true relevance."""
    production: float
    """The value of production, likewise."""
    unclear: str
    """Checks that did not pass."""


def sell(seed: int, *, variants: int) -> Sold:
    """Open a shop, run the plain command, and compare with the truth."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shop = open_shop(folder, seed=seed, variants=variants)
        found = _train(shop, folder, seed)
    rewards = found.outcome.rewards
    reported = rewards.get("test", rewards["valid"])
    experiment = found.experiment
    served = experiment.serve(found.outcome.learned.model)[reported.split]
    assert served.production is not None
    weights = experiment.rank_weights
    before = _value(served.production.weights(weights), reported, shop)
    after = _value(served.weights(weights), reported, shop)
    difference = found.outcome.judged["off_policy"]["difference"]
    low, high = (
        float("nan") if difference[key] is None else difference[key] for key in ("low", "high")
    )
    unclear = [one for one in found.precautions.checks if one.outcome != "pass"]
    return Sold(
        seed,
        found.verdict.decision,
        found.precautions.plan,
        difference["value"],
        low,
        high,
        after - before,
        before,
        "; ".join(f"{one.name}: {one.outcome}" for one in unclear),
    )


def _value(weights: Floats, reported: Rewards, shop: Shop) -> float:
    dataset = reported.dataset
    queries = np.repeat(dataset.query_ids, dataset.lists.lengths)
    pairs = zip(queries.tolist(), dataset.document_ids.tolist(), strict=True)
    relevance = np.array(
        [shop.relevance[_text(query), _text(document)] for query, document in pairs]
    )
    return float(reported.query_weights @ dataset.lists.sum(weights * relevance))


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _train(shop: Shop, folder: Path, seed: int) -> SafeRun:
    """``cltr data import``, ``cltr ingest`` and ``cltr train``, without options."""
    from cltr.api.ingest import ingest

    data, log = folder / "data.h5", folder / "log.h5"
    import_dataset([shop.features], data)
    ingest(shop.log, out=log, data=data, production=shop.scores, progress=False)
    values = {"version": CURRENT, "log": str(log), "data": str(data), "seed": seed}
    config = fit_to_log(resolve(values))
    components = compose(config)
    config, dataset = open_data(config)
    experiment, opened = train_run._begin(config, components, dataset, Progress())
    assert opened is not None
    return run_safely(experiment, opened.statistics)


def main() -> None:
    """Sell in many shops, and add up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="Shops. [100]")
    parser.add_argument("--variants", type=int, default=0, help="Changes of a sorted production.")
    options = parser.parse_args()
    path = DOCS / f"defaults-shop{'-sorted' if options.variants else ''}.csv"
    done = _read(path)
    for seed in range(1, options.seeds + 1):
        if seed not in done:
            done[seed] = sell(seed, variants=options.variants)
            _append(path, done[seed])
            sys.stderr.write(f"{done[seed]}\n")
    sys.stdout.write(summary(list(done.values())) + "\n")


def summary(shops: list[Sold]) -> str:
    """The numbers that count."""
    learned = [one for one in shops if one.plan != "stay"]
    covered = sum(one.low <= one.truth <= one.high for one in learned)
    worse = sum(one.truth < 0 and one.verdict in ("deploy", "canary") for one in shops)
    gains = np.array([one.truth / one.production for one in shops])
    verdicts = sorted({one.verdict for one in shops})
    counts = ", ".join(f"{word} {sum(one.verdict == word for one in shops)}" for word in verdicts)
    return (
        f"{len(shops)} shops: {counts}; stayed {len(shops) - len(learned)}; the interval "
        f"covers the truth in {covered} of {len(learned)}; worse but presented as a gain: {worse}; "
        f"mean true gain {gains.mean():+.1%} of production, worst {gains.min():+.1%}, below -2%: "
        f"{int((gains < -0.02).sum())}"
    )


def _append(path: Path, one: Sold) -> None:
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(Sold._fields)
        writer.writerow(f"{x:.6g}" if isinstance(x, float) else x for x in one)


def _read(path: Path) -> dict[int, Sold]:
    if not path.exists():
        return {}
    types = Sold.__annotations__
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            Sold(**{name: types[name](value) for name, value in row.items()})
            for row in csv.DictReader(file)
        ]
    return {row.seed: row for row in rows}


if __name__ == "__main__":
    main()
