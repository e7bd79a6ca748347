"""Small tables of features, in memory and in files."""

import numpy as np
import pandas as pd

COLUMNS = {
    "query": ["red shoes", "red shoes", "tea & cup", "tea & cup", "tea & cup", "cup"],
    "document": ["b", "a", "c", "b", "a", "a"],
    "label": [1, 0, 2, 0, 0, 1],
    "split": ["train", "train", "valid", "valid", "valid", "test"],
    "x": [0.1, 2.5, -3.0, 1e-3, 7.0, 0.5],
    "n": [1, 2, 3, 4, 5, 6],
}
LAST = {"query": "cup", "split": "test"}


def columns(**changes):
    """The columns above with others in their place; the sixth row is filled in."""
    full = {
        name: None if values is None else [*values, LAST.get(name, values[-1])][:6]
        for name, values in changes.items()
    }
    return {name: values for name, values in (COLUMNS | full).items() if values is not None}


def wide(n_queries=30, length=7, *, seed=0, labels=True):
    """A frame with queries that come and go."""
    rng = np.random.default_rng(seed)
    n = n_queries * length
    queries = np.repeat([f"query no. {i}" for i in range(n_queries)], length)
    frame = pd.DataFrame(
        {"qid": queries, "doc": np.tile(np.arange(length), n_queries)}
        | {f"f{i}": rng.normal(size=n) * 10.0**i for i in range(4)}
    )
    if labels:
        frame["grade"] = rng.integers(0, 5, n)
    return frame


def write(frame, path, **options):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False, **options)
    elif ".jsonl" in path.suffixes:
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
    return path
