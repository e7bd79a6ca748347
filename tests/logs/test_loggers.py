"""Guards logs that several policies served: exposure is their mixture, by simulation with truth."""

import numpy as np
import pytest

from cltr.errors import DataError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import open_log
from cltr.logs.merging import merge_files
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.policies import PlackettLuce
from cltr.types import Lists
from tests.plain_logs import write_jsonl

DOCUMENTS, RANKS = 4, 3
SCORES = {"old": np.array([2.0, 1.0, 0.0, -3.0]), "new": np.array([-3.0, 0.0, 1.0, 2.0])}
"""Each seldom shows a document that the other one likes."""
LISTS = Lists.of_offsets(np.array([0, DOCUMENTS]))
CHANCES = {
    name: PlackettLuce().rank_distribution(scores, LISTS, RANKS) for name, scores in SCORES.items()
}


def drawn(n, share, *, seed=0, first=0):
    """Rows of interactions; ``share(i)`` is the chance that the new policy serves the i-th."""
    rng, table = np.random.default_rng(seed), []
    for i in range(first, first + n):
        logger = "new" if rng.random() < share(i) else "old"
        noisy = SCORES[logger] + rng.gumbel(size=DOCUMENTS)
        for rank, document in enumerate(np.argsort(-noisy)[:RANKS]):
            table.append(
                {"session": f"s{i}", "query": "q", "position": rank + 1, "doc": f"d{document}",
                 "click": int(rng.random() < 0.3), "time": i, "logger": logger,
                 "p": float(CHANCES[logger][document, rank]),
                 "score": float(SCORES[logger][document])}
            )  # fmt: skip
    return table


def ingest(folder, table, *, name="log", split=None, **columns):
    path, out = write_jsonl(folder / f"{name}.jsonl", table), folder / f"{name}.h5"
    options = IngestOptions(split=split or Split())
    report = ingest_log(LogSource([path], LongReader(**columns)), out, options=options)
    return report, open_log(out)


def mixture(log, table, part=None):
    """The mixture by the traffic that was drawn."""
    first, last = log.description["interactions"]["time"][part] if part else (-1, 1e9)
    served = [
        row["logger"] for row in table if row["position"] == 1 and first <= row["time"] <= last
    ]
    share = np.mean([logger == "new" for logger in served])
    return share * CHANCES["new"] + (1 - share) * CHANCES["old"]


COLUMNS = {"logger_column": "logger", "time_column": "time"}


@pytest.mark.parametrize("known", [{"propensity_column": "p"}, {"score_column": "score"}], ids=str)
def test_exposure_is_the_mixture_by_traffic(tmp_path, known):
    """Sums are 1 at every rank; averaging propensities over impressions gave more."""
    table = drawn(2000, lambda i: 0.3)
    report, log = ingest(tmp_path, table, **COLUMNS, **known)
    np.testing.assert_allclose(log.propensities, mixture(log, table), atol=2e-4)
    np.testing.assert_allclose(log.propensities.sum(0), 1, atol=1e-3)
    assert "varying-propensities" not in {row["problem"] for row in report["problems"]}
    assert set(log.description["loggers"]) == {"old", "new"}
    total = sum(sum(counts.values()) for counts in log.description["loggers"].values())
    assert total == 2000


def test_shares_differ_by_part(tmp_path):
    """The new policy takes over: training saw the old one, test the new one."""
    table = drawn(2000, lambda i: float(i >= 1600))
    known = {"propensity_column": "p"}
    _, log = ingest(tmp_path, table, split=Split(by="time"), **COLUMNS, **known)
    for part, chances in log.part_propensities.items():
        np.testing.assert_allclose(chances, mixture(log, table, part), atol=2e-4)
    np.testing.assert_allclose(log.part_propensities["train"], CHANCES["old"], atol=2e-4)
    np.testing.assert_allclose(log.part_propensities["test"], CHANCES["new"], atol=2e-4)


def test_policies_that_are_not_told_apart_are_counted(tmp_path):
    """Counts are unbiased whatever the policies: within four standard errors of the truth."""
    table = drawn(4000, lambda i: 0.5)
    report, log = ingest(tmp_path, table, propensity_column="p", time_column="time")
    assert ("varying-propensities", 1) in {(r["problem"], r["count"]) for r in report["problems"]}
    truth = 0.5 * CHANCES["new"] + 0.5 * CHANCES["old"]
    error = np.sqrt(truth * (1 - truth) / 4000)
    assert (np.abs(log.propensities - truth) <= 4 * error + 1e-9).all()
    np.testing.assert_allclose(log.propensities.sum(0), 1)


def test_merged_days_mix_policies_too(tmp_path):
    """A day on which a policy never showed a document at a rank does not know its propensity."""
    tables = [drawn(600, lambda i: 0.1), drawn(1400, lambda i: 0.8, seed=1, first=600)]
    known = COLUMNS | {"propensity_column": "p"}
    for number, table in enumerate(tables):
        ingest(tmp_path, table, name=f"{number}", **known)
    merge_files([tmp_path / "0.h5", tmp_path / "1.h5"], tmp_path / "days.h5")
    merged = open_log(tmp_path / "days.h5")
    _, whole = ingest(tmp_path, [*tables[0], *tables[1]], **known)
    np.testing.assert_allclose(merged.propensities, whole.propensities, atol=3e-3)
    for part, chances in whole.part_propensities.items():
        np.testing.assert_allclose(merged.part_propensities[part], chances, atol=3e-3)
    assert merged.description["loggers"] == whole.description["loggers"]


def test_rewards_are_unbiased_under_several_policies(tmp_path):
    """IPS with pooled exposure finds the relevance of every document that any policy shows."""
    relevance, examination = np.array([0.8, 0.2, 0.5, 0.6]), np.array([1.0, 0.6, 0.4])
    rng = np.random.default_rng(5)
    table = drawn(20_000, lambda i: 0.3 + 0.4 * (i % 2))
    for row in table:
        chance = relevance[int(row["doc"][1])] * examination[row["position"] - 1]
        row["click"] = int(rng.random() < chance)
    known = COLUMNS | {"propensity_column": "p"}
    _, log = ingest(tmp_path, table, split=Split(test_share=0.0), **known)
    train = log.statistics["train"]
    rho = log.part_propensities["train"] @ examination
    estimate = train.clicks.sum(1) / (train.displays[0] * rho)
    np.testing.assert_allclose(estimate, relevance, atol=0.05)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"logger": None}, "1 rows have no value in the logger column"),
        ({"logger": "third"}, "1 interactions have several loggers; expected one each"),
    ],
)
def test_loggers_that_cannot_be(tmp_path, change, line):
    table = drawn(200, lambda i: 0.5)
    table[4] |= change
    with pytest.raises(DataError, match=line):
        ingest(tmp_path, table, **COLUMNS)


def test_too_many_loggers_are_none(tmp_path):
    table = [row | {"logger": row["session"]} for row in drawn(200, lambda i: 0.5)]
    with pytest.raises(
        DataError, match="has 200 different values, such as 's0'; expected the name"
    ):
        ingest(tmp_path, table, **COLUMNS)
