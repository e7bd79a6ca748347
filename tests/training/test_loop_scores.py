"""Guards scores of models: in parts, with their rows, started at production, for any threads."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cltr.documents import Documents, ModelSetup
from cltr.errors import DataError
from cltr.training.torch_model import TorchModel
from cltr.types import Exposure
from tests.training.small_training import SHARES, Curved, dataset, logged, score, trainer


def test_documents_are_scored_in_parts_that_cut_no_list():
    module, data = Curved(), dataset()
    whole = score(module, data)
    module.rows.clear()
    np.testing.assert_array_equal(score(module, data, at_once=7), whole)
    assert [rows.tolist() for rows in module.rows] == [
        list(range(7)),
        list(range(7, 12)),
        list(range(12, 20)),
    ]


def test_rows_are_those_of_the_whole_data_set():
    """A scorer that knows documents by their row must see the same one in every split."""
    whole = replace(dataset(), splits={"train": (0, 2), "valid": (2, 5)})
    module = Curved()
    score(module, whole.part("valid"))
    assert module.rows[0].tolist() == list(range(6, 20))
    module.rows.clear()
    split = replace(
        logged(),
        dataset=whole.part("valid"),
        values=logged().values[6:],
        exposure=Exposure(*3 * [logged().exposure.weights[6:]]),
        query_weights=SHARES[2:] / SHARES[2:].sum(),
    )
    trainer(epochs=1).train(module, split, None)
    assert {row for rows in module.rows for row in rows.tolist()} == set(range(6, 20))


def test_a_module_starts_at_the_scores_of_production():
    data = dataset()

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, documents):
            return self.layer(documents.features).squeeze(-1)

    served = replace(data, production=np.random.default_rng(0).normal(size=20))
    model = TorchModel(Line(), ModelSetup(4, 20))
    model.start_from(Documents.of(served), np.ones(5, bool))
    np.testing.assert_array_equal(model.scores(Documents.of(served)), served.production)
    with pytest.raises(DataError, match="production's scores"):
        model.scores(Documents.of(data))


THREADS = """
import hashlib
from cltr.experiment.library_setup import set_up_libraries
set_up_libraries()
import numpy as np
from cltr.clicks.models import TrustBias
from cltr.documents import ModelSetup
from cltr.interfaces import EstimatorContext
from cltr.objectives.prpo import PRPO
from cltr.plugins import registry
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.scorers import Mlp
from cltr.types import Dataset, Exposure, Rewards
rng = np.random.default_rng(0)
offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 60, 90))])
n, weights = offsets[-1], np.array([1.0, 0.6, 0.5, 0.4, 0.3])
features = rng.normal(size=(n, 136)).astype(np.float32)
data = Dataset(features, np.zeros(n), offsets, np.arange(90), np.arange(n))
shown = rng.random(n)
split = Rewards(data, rng.normal(size=n), Exposure(shown, shown, shown), rng.random(90))
for name in ("exact", "pl-rank"):
    model, prpo = Mlp().build(ModelSetup(136, n), seed=0), PRPO(clip=0.1)
    prpo.prepare(EstimatorContext(1000, weights, "dcg", TrustBias()))
    loop = Trainer(prpo, registry().find("ranker", name)(), weights, TrainingOptions(epochs=2))
    state = loop.train(model, split, split)
    bits = b"".join(part.tobytes() for part in model.state().values())
    print(name, hashlib.sha256(bits).hexdigest(), state.history)
"""


def test_same_numbers_with_one_and_two_threads(run_python):
    """The kernels, the samples and the scorer's own matrix products."""
    one, two = (
        run_python(THREADS, NUMBA_NUM_THREADS=threads, OMP_NUM_THREADS=threads)
        for threads in ("1", "2")
    )
    assert one == two
