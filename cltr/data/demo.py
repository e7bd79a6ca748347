r"""The embedded ``demo`` data: drawn from a fixed seed, nothing to download.

A small web search: every query has an *intent* (it wants something fresh, popular, precise or
short), and every document has signals of match, popularity, age and length. How much a document
is worth is partly linear in them, so that a linear ranker learns something, and partly not: match
counts only where title and body agree, popularity saturates, freshness counts only for queries
that want it, spam spoils what else looks good.

.. math:: u = \text{linear}(x) + \text{interactions}(x, \text{intent}) + \text{noise},
          \qquad \text{grade} = \#\{\text{cuts} \le u\} \in \{0, \ldots, 4\}
"""

import numpy as np
from numpy.typing import NDArray

from cltr.files.fingerprints import fingerprint
from cltr.types import Dataset, Floats, Integers

SEED = 20240517
N_QUERIES = {"train": 400, "valid": 100, "test": 200}
N_FEATURES = 24
GRADE_SHARES = (0.62, 0.19, 0.11, 0.05, 0.03)
"""Share of documents with grade 0 to 4: most are irrelevant, few are perfect."""
SHORTEST, LONGEST = 2, 40
N_INTENTS = 4
NOISE = 0.5


def demo_dataset() -> Dataset:
    """The demo data: 700 queries with lists of 2 to 40 documents, 24 features, grades 0 to 4.

    Example:
        >>> data = demo_dataset()
        >>> data.n_queries, data.n_features, data.splits["test"]
        (700, 24, (500, 700))
    """
    rng = np.random.default_rng(SEED)
    lengths = _list_lengths(sum(N_QUERIES.values()), rng)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    features = _features(lengths, rng)
    utility = _utility(features) + NOISE * rng.standard_normal(len(features))
    cuts = np.quantile(utility, np.cumsum(GRADE_SHARES)[:-1])
    labels = np.searchsorted(cuts, utility, side="right").astype(np.float64)
    ends = np.cumsum([0, *N_QUERIES.values()]).tolist()
    return Dataset(
        features=features,
        labels=labels,
        offsets=offsets,
        query_ids=np.array([f"q{number}" for number in range(len(lengths))]),
        document_ids=np.array([f"d{number}" for number in range(len(features))]),
        splits={name: (ends[i], ends[i + 1]) for i, name in enumerate(N_QUERIES)},
        highest_grade=4.0,
        name="demo",
        fingerprint=fingerprint(features=features, labels=labels, offsets=offsets),
    )


def _list_lengths(n_queries: int, rng: np.random.Generator) -> Integers:
    """Skewed to the middle, with some lists shorter than the five ranks that are shown."""
    spread = SHORTEST + (LONGEST + 1 - SHORTEST) * rng.beta(1.3, 1.9, n_queries)
    return spread.astype(np.int64)


def _features(lengths: Integers, rng: np.random.Generator) -> NDArray[np.float32]:
    """Signals of each document ``[docs, 24]``, each with mean about 0 and deviation about 1.

    Columns: 0-5 match (body, title, anchor, url, exact, proximity), 6-9 popularity, 10-11 age,
    12-13 length, 14 spam, 15-18 the query's intent, 19 the query's difficulty, 20-23 unrelated.
    """
    n = int(lengths.sum())
    values = rng.standard_normal((n, N_FEATURES))
    topic, fame = rng.standard_normal((2, n))
    values[:, 0:6] = 0.6 * topic[:, None] + 0.8 * values[:, 0:6]
    values[:, 6:10] = 0.6 * fame[:, None] + 0.8 * values[:, 6:10]
    intent = rng.integers(N_INTENTS, size=len(lengths))
    of_query = np.full((len(lengths), 5), -0.577)
    of_query[np.arange(len(lengths)), intent] = 1.732
    of_query[:, 4] = rng.standard_normal(len(lengths))
    values[:, 15:20] = np.repeat(of_query, lengths, axis=0)
    return values.astype(np.float32)


def _utility(features: NDArray[np.float32]) -> Floats:
    """What a document is worth for its query, before noise, ``[docs]``."""
    x = features.astype(np.float64)
    body, title, anchor, url, exact, proximity = x[:, 0:6].T
    popularity = x[:, 6:10].mean(1)
    age, staleness, length, depth, spam = x[:, 10:15].T
    fresh, popular, precise, short = (x[:, 15:19] > 0).T
    linear = 0.2 * body + 0.15 * title + 0.1 * anchor + 0.15 * popularity
    agreement = 0.7 * np.minimum(title, body) + 0.4 * np.tanh(2 * url * anchor)
    wishes = (
        fresh * -0.9 * age * (staleness < 0.5)
        + popular * 1.3 * np.tanh(2 * popularity)
        + precise * 0.9 * exact * (proximity > 0)
        + short * 0.9 * (0.8 - np.abs(length - 0.3 * depth))
    )
    utility: Floats = linear + agreement + wishes - 0.9 * (spam > 0.8)
    return utility
