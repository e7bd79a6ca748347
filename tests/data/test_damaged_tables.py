"""Guards that a damaged table gives a data set or one clear line, never a crash or a half file."""

import random

import numpy as np
import pandas as pd
import pytest

from cltr.data.importing import import_dataset, open_dataset
from cltr.errors import CltrError

MUTANTS = 40


def frame():
    rng = np.random.default_rng(0)
    n = 60
    return pd.DataFrame(
        {
            "query": np.repeat([f"query {i}" for i in range(n // 5)], 5),
            "document": [f"d{i}" for i in range(n)],
            "label": rng.integers(0, 3, n),
            "x": rng.normal(size=n),
            "n": rng.integers(-5, 5, n),
        }
    )


def written(path):
    table = frame()
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=25)
    elif path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False)
    return path.read_bytes()


def mutant(data, rng):
    """The same bytes with a few changed, cut out, put in, or cut off."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        place = rng.randrange(len(data))
        how = rng.randrange(5)
        if how == 0:
            data[place] = rng.randrange(256)
        elif how == 1:
            data[place] ^= 1 << rng.randrange(8)
        elif how == 2:
            del data[place : place + rng.choice([1, 3, 40])]
        elif how == 3:
            data[place:place] = rng.choice(
                [b"\0", b"\n", b'"', b",", b"\xff\xfe", b"nan", b"1e999"]
            )
        else:
            data[place:place] = data[max(0, place - 30) : place]
    return bytes(data[: rng.randrange(1, len(data))] if rng.random() < 0.1 else data)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_data_set_or_one_line(tmp_path, kind):
    rng = random.Random(f"tables {kind}")
    path, out = tmp_path / f"f.{kind}", tmp_path / "d.h5"
    data = written(path)
    refused = 0
    for _ in range(MUTANTS):
        path.write_bytes(mutant(data, rng))
        out.unlink(missing_ok=True)
        try:
            import_dataset([path], out)
        except CltrError as error:
            refused += 1
            assert "\n" not in str(error)
            assert str(path) in str(error) or "id" in str(error)
            assert sorted(p.name for p in tmp_path.iterdir()) == [path.name]
        else:
            found = open_dataset(out)
            assert np.isfinite(found.features).all()
            assert found.n_documents > 0
    assert refused > 0


@pytest.mark.parametrize(
    "name", ["f.parquet", "f.csv", "f.csv.gz", "f.jsonl", "f.jsonl.gz", "f.tsv"]
)
@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\x1f\x8b\x08", b"PAR1", b"[]", b"{}", b"\xff" * 9]
)
def test_nothing_or_nonsense_is_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CltrError) as caught:
        import_dataset([tmp_path / name], tmp_path / "d.h5")
    assert "\n" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == [name]
