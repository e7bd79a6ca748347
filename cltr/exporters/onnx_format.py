"""A linear or feed-forward ranker as an ONNX graph, written node by node.

The graph takes raw ``features`` ``[documents, features]`` and, where the model adds to it,
``production`` ``[documents]``, all float32, and gives ``scores`` ``[documents]``. Features are
standardised in double precision, as in training: their means may be large beside their deviations.
"""

from pathlib import Path
from typing import Any

import numpy as np

from cltr.documents import Documents
from cltr.errors import CltrError
from cltr.exporters.network import Network, Step
from cltr.extensions import Exporter, TrainedRanker
from cltr.types import Floats

OPSET, IR_VERSION = 17, 8
"""Old enough for engines that are some years behind."""


class OnnxExporter(Exporter):
    """An ONNX graph with the input standardisation inside; Vespa takes it too."""

    name = "onnx"
    suffix = ".onnx"

    def write(self, ranker: TrainedRanker, path: Path) -> None:
        network = Network.of(ranker, to="ONNX")
        onnx = _library("onnx")
        graph = _Graph()
        last = graph.scores(network)
        helper, kinds = onnx.helper, onnx.TensorProto
        inputs = [
            helper.make_tensor_value_info("features", kinds.FLOAT, ["documents", ranker.n_features])
        ]
        if network.adds:
            shape = ["documents"]
            inputs.append(helper.make_tensor_value_info("production", kinds.FLOAT, shape))
        output = helper.make_tensor_value_info(last, kinds.FLOAT, ["documents"])
        made = helper.make_graph(graph.nodes, "cltr ranker", inputs, [output], graph.constants)
        model = helper.make_model(
            made,
            producer_name="cltr",
            producer_version=ranker.about.get("cltr", ""),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        about = {
            **ranker.about,
            "features": "\n".join(network.names),
            "policy": ranker.policy,
            "top_k": str(ranker.top_k),
        }
        helper.set_model_props(model, about)
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString())

    def scores(self, path: Path, documents: Documents) -> Floats:
        runtime = _library("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        session = runtime.InferenceSession(
            path.read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        given: dict[str, Any] = {"features": np.asarray(documents.features, np.float32)}
        if any(one.name == "production" for one in session.get_inputs()):
            given["production"] = np.asarray(documents.production, np.float32)
        (scores,) = session.run(["scores"], given)
        return np.asarray(scores, np.float64)


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise CltrError(f"--to onnx needs {name}: pip install 'cltr[onnx]'") from error


class _Graph:
    """Nodes and constants, in the order in which they are needed."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def scores(self, network: Network) -> str:
        """All of the network; the name of what it gives."""
        value = "features"
        if network.steps:
            value = self.add("Cast", value, to=_library("onnx").TensorProto.DOUBLE)
            for step in network.steps:
                value = self._step(step, value)
            value = self.add("Cast", value, to=_library("onnx").TensorProto.FLOAT)
        for number, (weights, bias) in enumerate(network.layers):
            value = self.add("Relu", value) if number else value
            weight, offset = (self.constant(part.astype(np.float32)) for part in (weights.T, bias))
            value = self.add("Gemm", value, weight, offset)
        axis = self.constant(np.array([1], np.int64))
        if not network.adds:
            return self.add("Squeeze", value, axis, name="scores")
        value = self.add("Squeeze", value, axis)
        return self.add("Add", value, "production", name="scores")

    def _step(self, step: Step, value: str) -> str:
        if step.tailed.any():
            sizes = self.add("Div", self.add("Abs", value), self.constant(step.unit))
            logs = self.add("Log", self.add("Add", sizes, self.constant(np.ones(1))))
            signed = self.add("Mul", self.add("Sign", value), logs)
            value = self.add("Where", self.constant(step.tailed), signed, value)
        value = self.add("Sub", value, self.constant(step.center))
        value = self.add("Mul", value, self.constant(step.factor))
        if step.limit is None:
            return value
        ends = (self.constant(np.array(end)) for end in (-step.limit, step.limit))
        return self.add("Clip", value, *ends)

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """A node; the name of what it gives."""
        out = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(
            _library("onnx").helper.make_node(kind, list(inputs), [out], name=out, **attributes)
        )
        return out

    def constant(self, values: Any) -> str:
        """An array; its name."""
        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(values)
        self.constants.append(_library("onnx").numpy_helper.from_array(array, name))
        return name
