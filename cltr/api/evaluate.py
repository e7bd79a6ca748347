"""``cltr.evaluate``."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from cltr.api.candidates import evaluate_candidates
from cltr.api.judged_sources import CandidateLike
from cltr.api.report import check_out
from cltr.api.run import Evaluation, Run, judge_again
from cltr.api.sources import DataLike, FileName, LogLike
from cltr.api.verdicts import CandidateEvaluation
from cltr.errors import UsageError
from cltr.experiment.candidates import PRODUCTION
from cltr.files.claims import reserve


def evaluate(
    run: Run | FileName | CandidateLike | Sequence[CandidateLike],
    *,
    log: LogLike | None = None,
    data: DataLike | None = None,
    blend_to_loss: float | None = None,
    gain: str | None = None,
    empty: str | None = None,
    ties: str | None = None,
    metrics: Sequence[str | Mapping[str, Any]] | None = None,
    confidence: float | None = None,
    serve: str | None = None,
    clicks: str | None = None,
    click_model: str | None = None,
    production: FileName | None = None,
    top_k: int | None = None,
    seed: int | None = None,
    score_column: str | None = None,
    out: FileName | None = None,
    report: bool = True,
) -> Evaluation | CandidateEvaluation:
    """Evaluate a finished run again, or candidates on a log. Same as ``cltr evaluate``.

    Args:
        run: the run or its folder. With a log: one or more candidates, which are runs, tables of
            scores or ranks, TREC runs, or ``"production"``.
        log: evaluate candidates on this log.
        data: another data set with the same features; with a log, the data set of the log.
        blend_to_loss: mix the run with production so that NDCG falls by at most this, whatever
            users find relevant; 0.02 is two points. Only without a log, like the next four.
        gain: gain of a grade g in NDCG and DCG: ``linear`` (g, as in the paper) or ``exponential``
            (2^g - 1).
        empty: how queries without relevant documents count: ``zero`` (as in the paper), ``skip`` or
            ``one``.
        ties: order of equal scores in a sorted ranking: ``order`` (as listed) or ``expected``.
        metrics: further metrics, by name or with options, such as
            ``["err", {"name": "rbp", "persistence": 0.9}]``.
        confidence: one-sided confidence of all lower bounds together; 0.95 by default. Only with a
            log, like all that follow; see :func:`cltr.gate`.
        serve: ``sorted`` or ``sampled`` rankings of tables.
        clicks: ``test`` or ``all``.
        click_model: a name, ``fitted:FILE``, or ``auto``.
        production: a file with production's scores.
        top_k: number of ranks.
        seed: seed of all random choices.
        score_column: column of the score in tables.
        out: save the result as JSON here, and its HTML report beside it.
        report: also write the HTML report if ``out`` is given.
    """
    candidates = run if isinstance(run, list | tuple) else [run]
    target = None if out is None else check_out(out, (*candidates, log, data, production))
    again: dict[str, Any] = {
        "blend_to_loss": blend_to_loss,
        "gain": gain,
        "empty": empty,
        "ties": ties,
        "metrics": metrics or None,
    }
    judging: dict[str, Any] = {
        "confidence": confidence,
        "serve": serve,
        "clicks": clicks,
        "click_model": click_model,
        "production": production,
        "top_k": top_k,
        "seed": seed,
        "score_column": score_column or None,
    }
    given = {key: value for key, value in judging.items() if value is not None}
    found: Evaluation | CandidateEvaluation
    with reserve(target):
        if log is not None:
            _refuse(again, "cannot be used with --log")
            found = evaluate_candidates(run, log=log, data=data, **given)
        else:
            _refuse(given, "needs --log")
            one: Any = run[0] if isinstance(run, list | tuple) and len(run) == 1 else run
            if isinstance(one, list | tuple):
                raise UsageError("several candidates are judged by a log; give it with --log LOG")
            _check_run(one)
            found = judge_again(one, data=data, **again)
        if out is not None:
            found.save(out, report=report)
    return found


def _check_run(run: Any) -> None:
    """Without a log, refuse whatever is no run: nothing could judge it."""
    if isinstance(run, Run):
        return
    named = isinstance(run, str | PathLike)
    if named and not Path(run).is_file() and (str(run) != PRODUCTION or Path(run).exists()):
        return  # if it is no run, opening it says so
    what = run if named else "data frame"
    raise UsageError(
        f"{what}: is not a run folder, so it needs clicks to be judged by; add --log LOG, a "
        "click log of production"
    )


def _refuse(options: Mapping[str, Any], why: str) -> None:
    """Refuse options that mean nothing here."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name.replace('_', '-')} {why}")
