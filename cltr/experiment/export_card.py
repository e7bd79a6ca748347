"""The card that goes with an exported ranker: what it is, from which data, and what it is worth."""

import json
from collections.abc import Mapping
from typing import Any

from cltr.data.feature_columns import numbered, shown
from cltr.experiment.hand_over import SERVING
from cltr.experiment.run_model import RunModel
from cltr.looks import POINT


def card(run: RunModel, exported: Mapping[str, Any]) -> str:
    """In Markdown.

    Args:
        run: that was exported.
        exported: of :func:`cltr.experiment.export_run.export`.
    """
    result = run.folder.read_json("result.json")
    return "\n".join(
        [
            f"# A ranker for {exported['to']}",
            "",
            f"Made by cltr from the run `{run.folder.path.name}`: the estimator "
            f"`{result['estimator']}` over the reward `{result['reward']}`, the scorer "
            f"`{result['scorer']}`, {result['n_interactions']:,} interactions.",
            "",
            f"- Data: `{result['data']}`, fingerprint `{run.inputs.data}`.",
            f"- Checked: its scores of {exported['documents_compared']:,} documents differ from "
            f"those of the run by at most {exported['largest_difference']:.1g} of their spread.",
            *_worth(result),
            *(f"- {note}" for note in exported["notes"]),
            *(f"- {line}" for line in result.get("alerts", ())),
            *_serving(run),
            "",
            "## Inputs",
            "",
            "Raw features, in this order"
            + (", and production's score of the document" if run.inputs.production else "")
            + ":",
            "",
            *_features(run),
            "",
        ]
    )


def _worth(result: Mapping[str, Any]) -> list[str]:
    """Estimated gain and worst case, with their level of trust."""
    lines = []
    gain = result.get("off_policy", {}).get("difference", {})
    if gain.get("value") is not None:
        ends = [gain.get(key) for key in ("low", "high")]
        interval = "" if None in ends else f" (95% interval {ends[0]:+.4f} to {ends[1]:+.4f})"
        lines.append(
            f"- Estimated gain over production in the training metric: {gain['value']:+.4f}"
            f"{interval}; it relies on the click model `{result['click_model']}`."
        )
    for split in ("test", "train"):
        found = (result["certificate"] or {}).get(split)
        if found:
            loss = found["worst_case"][f"ndcg@{result['top_k']}"]["loss"]
            lines.append(
                f"- Certificate, {split} queries: NDCG@{result['top_k']} falls by at most "
                f"{100 * loss:.1f} points ({POINT}), whatever users find relevant, if rankings are "
                "served as in the run."
            )
    return lines


def _serving(run: RunModel) -> list[str]:
    if not (run.folder.path / SERVING).exists():
        return []
    rule = run.rule
    share = "the share of each query" if rule.shares else f"{rule.share:.1%} of the requests"
    return [
        f"- To be served now: {share} by the new ranker, rankings {rule.new}, "
        f"{rule.top_k} documents; the rule is `{SERVING}` of the run (docs/serving.md)."
    ]


def _features(run: RunModel) -> list[str]:
    names, n = run.inputs.feature_names, run.inputs.n_features
    if not names:
        return [f"{n} columns without names, in the order of the data set: {shown(numbered(n))}."]
    return [f"{number}. {json.dumps(name)}" for number, name in enumerate(names, 1)]
