"""CLAX (``clax-models`` on PyPI) on sessions from a file; runs in an environment that has it.

    CLAX_PYTHON tests/benchmarks/clax_worker.py sessions.npz pbm BATCH RATE TARGET EPOCHS

Trains with the library's own compiled step until the held-out log-likelihood reaches TARGET, at
most EPOCHS times over the sessions. Prints a line of JSON. Sessions lie in memory as the step takes
them, already shuffled, and reading the held-out sessions is not timed.
"""

import json
import sys
import time
from importlib.metadata import version

import numpy as np
from clax import PositionBasedModel, Trainer, UserBrowsingModel
from clax.metrics import Average, LogLikelihood, MultiMetric
from flax import nnx
from optax import adamw

MODELS = {"pbm": PositionBasedModel, "ubm": UserBrowsingModel}


def batches(documents: np.ndarray, clicks: np.ndarray, size: int, rng=None) -> list[dict]:
    """What is left over at the end is dropped, so that there is one shape to compile."""
    order = rng.permutation(len(documents)) if rng else np.arange(len(documents))
    positions = np.broadcast_to(np.arange(1, documents.shape[1] + 1), (size, documents.shape[1]))
    mask = np.ones(positions.shape, bool)
    rows = (order[i : i + size] for i in range(0, len(order) - size + 1, size))
    return [
        {"query_doc_ids": documents[r], "clicks": clicks[r], "positions": positions, "mask": mask}
        for r in rows
    ]


class Run:
    """A model on its way."""

    def __init__(self, name: str, data: dict, size: int, rate: float) -> None:
        self.data, self.size = data, size
        self.model = MODELS[name](
            query_doc_pairs=int(data["n_documents"]),
            positions=data["documents"].shape[1],
            rngs=nnx.Rngs(42),
        )
        self.trainer = Trainer(optimizer=adamw(rate))
        self.optimizer = nnx.ModelAndOptimizer(self.model, self.trainer.optimizer)
        self.losses = MultiMetric({"loss": Average("loss")})
        self.scores = MultiMetric({"ll": LogLikelihood(), "loss": Average("loss")})
        self.rng = np.random.default_rng(0)

    def train(self, part: list[dict]) -> float:
        """Steps; processor seconds."""
        began = time.process_time()
        for batch in part:
            self.trainer._train_step(self.model, self.optimizer, self.losses, batch)
        self.losses.compute()["loss"].block_until_ready()
        return time.process_time() - began

    def epoch(self) -> list[dict]:
        """The batches of another time over the sessions."""
        return batches(self.data["documents"], self.data["clicks"], self.size, self.rng)

    def held_out(self) -> float:
        """Mean log-likelihood of a document shown."""
        for batch in batches(self.data["held_out"], self.data["held_out_clicks"], 10_000):
            self.trainer._test_step(self.model, self.scores, batch)
        found = float(self.scores.compute()["ll"])
        self.scores.reset()
        return found


def main() -> None:
    """Compile, train, tell."""
    path, name, size, rate, target, epochs = sys.argv[1:]
    data = dict(np.load(path))
    compiling = Run(name, data, int(size), float(rate))
    compiled = compiling.train(compiling.epoch()[:1])
    run = Run(name, data, int(size), float(rate))
    run.trainer = compiling.trainer  # what is compiled belongs to it
    run.train(run.epoch()[:1])  # the rest of what only the first step does
    run = Run(name, data, int(size), float(rate))
    run.trainer = compiling.trainer
    seconds, spent, scores = 0.0, [], []
    while len(scores) < int(epochs) and (not scores or scores[-1] < float(target)):
        seconds += run.train(run.epoch())
        spent.append(seconds)
        scores.append(run.held_out())
        if len(scores) > 5 and max(scores[-3:]) < max(scores[:-3]):
            break  # it only gets worse
    versions = {p: version(p) for p in ("clax-models", "jax", "flax")}
    found = {"spent": spent, "compiling": compiled, "scores": scores}
    sys.stdout.write(json.dumps(found | {"versions": versions}) + "\n")


if __name__ == "__main__":
    main()
