"""What is attacked: a file, the ways to damage it, and the commands that read it."""

from dataclasses import dataclass

from tests.reliability.damage import (
    Damage,
    cut,
    damage_arrays,
    damage_bytes,
    damage_json,
    damage_table,
    damage_tokens,
    damage_toml,
)
from tests.reliability.damage_hdf5 import damage_hdf5
from tests.reliability.damage_plugin import damage_plugin
from tests.reliability.world import LITTLE

OUT = "made"
"""Where commands write; removed after each trial."""


@dataclass(frozen=True)
class Target:
    """A kind of input."""

    name: str
    files: tuple[str, ...]
    """Patterns of files, one of which is damaged."""
    ways: tuple[Damage, ...]
    commands: tuple[str, ...]
    """Of which one is run; ``{file}`` is the damaged file."""
    whole: bool = True
    """Whether the beginning of the file alone must be refused."""


_LITTLE = " ".join(LITTLE[2:])
_HIDDEN = " -o scorer.hidden=[4]"
_TRAIN = f"train {_LITTLE} --out made/run"
_TEXT = (damage_tokens, damage_tokens, damage_bytes)
TARGETS = (
    Target(
        "HDF5 data set, by byte",
        ("data.h5", "data.h5", "data.h5", "data.h5", "old.h5"),  # which takes longer to read
        (damage_bytes, damage_bytes, cut),
        (
            "data info {file}",
            "data export {file} --out made/x.csv",
            f"{_TRAIN} -n 50 --data {{file}}",
        ),
    ),
    Target(
        "HDF5 data set, by structure",
        ("data.h5",),
        (damage_hdf5,),
        (
            "data info {file}",
            "data info {file} --json",
            "data export {file} --out made/x.parquet",
            f"{_TRAIN} -n 50 --data {{file}} --reward ips",
            "simulate -n 50 --data {file} --out made/x.h5",
        ),
    ),
    Target(
        "HDF5 log, by byte",
        ("log.h5", "real.h5"),
        (damage_bytes, damage_bytes, cut),
        ("check {file}", "ingest real.h5 --out made/x.h5"),
    ),
    Target(
        "HDF5 log, by structure",
        ("log.h5", "real.h5"),
        (damage_hdf5,),
        (
            "check {file}",
            "check {file} --json",
            "ingest real.h5 --out made/x.h5",
            "train --log real.h5 -o training.epochs=1 --click-model pbm --out made/run",
            f"{_TRAIN} --log log.h5 --data data.h5 --click-model pbm",
            "gate production --log log.h5 --data data.h5",
            "data export log.h5 --to clicks --data data.h5 --out made/x.csv",
            "fit --log real.h5 --click-model pbm --out made/m",
        ),
    ),
    Target(
        "HDF5 click model",
        ("m/pbm.h5",),
        (damage_bytes, damage_hdf5, damage_hdf5, cut),
        (
            "check log.h5 --click-model fitted:{file}",
            f"{_TRAIN} --log log.h5 --data data.h5 --click-model fitted:{{file}} --reward ips",
            "simulate -n 50 --data data.h5 --users fitted:{file} --out made/x.h5",
        ),
    ),
    Target(
        "SVMlight", ("letor/*.txt",), _TEXT, ("data import letor --out made/x.h5",), whole=False
    ),
    Target(
        "CSV",
        ("clicks.csv", "features.csv", "scores.csv", "requests.csv", "canary.csv"),
        _TEXT,
        (
            "ingest clicks.csv --out made/x.h5",
            "data import features.csv --out made/x.h5",
            "rank run --data features.csv --requests requests.csv --production scores.csv "
            "--out made/x.jsonl",
            "gate scores.csv --log log.h5 --data data.h5",
            "gate run --log log.h5 --data data.h5 --canary canary.csv",
        ),
        whole=False,
    ),
    Target(
        "JSON lines",
        ("clicks.jsonl", "features.jsonl"),
        _TEXT,
        (
            "ingest clicks.jsonl --sessions --out made/x.h5",
            "data import features.jsonl --out made/x.h5",
            "rank run --data features.jsonl --out made/x.csv",
        ),
        whole=False,
    ),
    Target(
        "Parquet",
        ("clicks.parquet", "features.parquet"),
        (damage_bytes, damage_table, damage_table, cut),
        (
            "ingest clicks.parquet --out made/x.h5",
            "data import features.parquet --out made/x.h5",
            "rank run --data features.parquet --out made/x.trec",
        ),
    ),
    Target(
        "TREC run",
        ("scores.trec",),
        _TEXT,
        ("gate {file} --log log.h5 --data data.h5",),
        whole=False,
    ),
    Target(
        "run file (TOML)",
        ("run.toml",),
        (damage_toml, damage_toml, damage_tokens, damage_bytes),
        ("train --config run.toml --out made/run", "simulate --config run.toml --out made/x.h5"),
        whole=False,
    ),
    Target(
        "study file (TOML)",
        ("study.toml",),
        (damage_toml, damage_toml, damage_tokens),
        ("compare study.toml --out study --workers 1",),
        whole=False,
    ),
    Target(
        "run folder: JSON",
        ("run/*.json", "logrun/*.json", "stopped/checkpoint/*.json"),
        (damage_json, damage_json, damage_tokens, damage_bytes, cut),
        (
            "evaluate {run}",
            "rank {run} --out made/x.csv --data data.h5",
            "export {run} --to json --out made/x.json",
            "rank {run} --data data.h5 --production scores.csv --requests requests.csv "
            "--out made/x.csv",
            "gate {run} --log log.h5 --data data.h5",
            "load {run}",
            "train --resume stopped",
        ),
    ),
    Target(
        "run folder: TOML",
        ("run/run.toml", "logrun/run.toml", "stopped/run.toml"),
        (damage_toml, damage_toml, damage_tokens),
        ("evaluate {run}", "rank {run} --out made/x.csv --data data.h5", "train --resume stopped"),
        whole=False,
    ),
    Target(
        "run folder: weights (safetensors)",
        ("run/*.safetensors", "logrun/*.safetensors", "stopped/checkpoint/*.safetensors"),
        (damage_arrays, damage_arrays, damage_bytes, cut),
        (
            "evaluate {run}",
            "rank {run} --out made/x.csv --data data.h5",
            "export {run} --to json --out made/x.json",
            "evaluate {run} --data data.h5",
            "train --resume stopped",
        ),
    ),
    Target(
        "plugin returns",
        ("plugin.py",),
        (damage_plugin,),
        tuple(
            f"{_TRAIN.replace(_HIDDEN, '')} -n 50 --data data.h5 --plugin plugin.py --{role} mine"
            for role in ("reward", "estimator", "ranker", "users", "scorer")
        ),
        whole=False,
    ),
    Target(
        "study folder: cells",
        ("study/cells/*.json",),
        (damage_json, damage_tokens, damage_bytes, cut),
        ("compare study.toml --out study --workers 1",),
    ),
)
