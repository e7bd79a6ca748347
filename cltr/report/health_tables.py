"""The health of a run's clicks, and the verdict."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from cltr.looks import DECISIONS, OUTCOMES

PLANS = {
    "learn": "",
    "narrow": "Because of that the policy was learned in a narrow band around production.",
    "stay": "Because of that nothing was learned: the policy is production.",
}


def health_lines(result: Mapping[str, Any]) -> Iterator[Text]:
    """What was found out about the clicks before training; nothing if nothing was asked."""
    for sentence in result.get("click_model_notes", ()):
        yield Text(sentence)
    start = result.get("start") or {}
    told = " ".join(start[key] for key in ("production", "sentence") if key in start)
    if told:
        yield Text(told)
    checks = result.get("checks", ())
    passed = [check["name"] for check in checks if check["outcome"] == "pass"]
    if passed:
        yield Text(f"Health checks passed: {', '.join(passed)}.", style=OUTCOMES["pass"].terminal)
    others = [check for check in checks if check["outcome"] != "pass"]
    for check in others:
        words = f"{check['name']}: {check['outcome']}. {check['sentence']} {check['advice']}"
        yield Text(words.strip(), style=OUTCOMES[check["outcome"]].terminal)
    if others and PLANS[result["plan"]]:
        yield Text(PLANS[result["plan"]])


def verdict_line(result: Mapping[str, Any]) -> Iterator[Text]:
    """What to do next, in one sentence; the last line of a run."""
    if "verdict" in result:
        word = result["verdict"]
        yield Text.assemble(
            ("Verdict: ", "bold"),
            (word, DECISIONS[word].terminal),
            f". {result['advice']['sentence']}",
        )
