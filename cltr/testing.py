"""Conformance: what every click model, reward, estimator, ranker, scorer and reader must pass.

A plugin's whole test file is three lines::

    from cltr.testing import check_reward
    from my_package import MyReward
    def test_conforms(): check_reward(MyReward())

Each check raises ``AssertionError`` with one sentence on what is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.documents import Batch, Documents, ModelSetup
from cltr.errors import DataError, UnsupportedError
from cltr.exposure.exposure import exact_exposure
from cltr.extensions import Command, DataLayout, Exporter, LogQuestion, Metric, TrainedRanker
from cltr.interfaces import (
    ClickModel,
    Component,
    Enforced,
    Estimator,
    EstimatorContext,
    Fittable,
    Guarantee,
    LogReader,
    Model,
    Objective,
    Penalised,
    Ranker,
    RewardFunction,
    Scorer,
)
from cltr.plugins import ROLES
from cltr.plugins.contracts import class_problem
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.types import SPLITS, ClickData, Dataset, Exposure, Floats, Lists

if TYPE_CHECKING:
    from cltr.checks import Evidence

TOP_K = 5


def tiny_dataset(n_queries: int = 10, *, seed: int = 0) -> Dataset:
    """A few judged queries with lists of 1 to 12 documents, in all three splits."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, size=n_queries)
    lengths[:2] = (1, 3)  # shorter than the display
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = int(offsets[-1])
    features = rng.normal(size=(n, 6)).astype(np.float32)
    grades = np.clip(np.round(1.5 * features[:, 0] + rng.normal(size=n)), 0, 4)
    half, most = n_queries // 2, (3 * n_queries) // 4
    return Dataset(
        features=features,
        labels=grades.astype(np.float64),
        offsets=offsets,
        query_ids=np.array([f"q{q}" for q in range(n_queries)]),
        document_ids=np.array([f"d{d}" for d in range(n)]),
        splits={"train": (0, half), "valid": (half, most), "test": (most, n_queries)},
        name="tiny",
        fingerprint=f"tiny-{n_queries}-{seed}",
    )


def tiny_clicks(
    click_model: ClickModel | None = None, *, n: int = 2000, seed: int = 0
) -> ClickData:
    """Clicks on the tiny data set under its own relevance, with exact exposure."""
    model = click_model or TrustBias()
    dataset = tiny_dataset(seed=seed)
    scores = dataset.features[:, 1].astype(np.float64)
    rng = np.random.default_rng(seed)
    statistics = simulate_statistics(dataset, scores, model, n=n, top_k=TOP_K, rng=rng)
    exposure = exact_exposure(
        scores, dataset.lists, PlackettLuce(), model, rank_weights("dcg", TOP_K)
    )
    return ClickData(dataset, statistics, exposure)


def _check_component(component: Component) -> None:
    contract = next(known for _, known in ROLES.values() if isinstance(component, known))
    problem = class_problem(type(component), contract)
    _demand(not problem, problem)
    name = component.name
    _demand(bool(type(component).__doc__), f"'{name}' has no docstring; 'cltr plugins' shows it")
    for key, field in component.Options.model_fields.items():
        _demand(bool(field.description), f"option '{name}.{key}' has no description")
    _demand(component.Options.model_config.get("extra") == "forbid", f"'{name}' takes any option")


def check_click_model(model: ClickModel) -> None:
    """Probabilities are probabilities, clicks follow them, affine models are affine."""
    _check_component(model)
    rng = np.random.default_rng(0)
    relevance = rng.random((4000, TOP_K))
    relevance[::3, 3:] = np.nan  # shorter lists
    context = model.draw_context(len(relevance), rng)
    probabilities = model.probabilities(relevance, context)
    shown = ~np.isnan(relevance)
    _demand(probabilities.shape == relevance.shape, "probabilities have another shape than lists")
    _demand(not np.isnan(probabilities[shown]).any(), "a click probability is NaN")
    inside = (probabilities[shown] >= 0) & (probabilities[shown] <= 1)
    _demand(bool(inside.all()), "a click probability lies outside [0, 1]")
    clicks = model.sample(relevance, context, np.random.default_rng(1))
    again = model.sample(relevance, context, np.random.default_rng(1))
    _demand(clicks.shape == relevance.shape and clicks.dtype == np.bool_, "clicks are not Boolean")
    _demand(np.array_equal(clicks, again), "the same seed gives other clicks")
    _check_rates(clicks, probabilities, shown)
    if isinstance(model, Fittable):
        _demand(
            model.needs_sessions == (type(model).count is not Fittable.count),
            "a model declares needs_sessions if, and only if, it counts in its own way",
        )
    affine = model.affine(TOP_K)
    if affine is None:
        return
    examination, trust = affine
    _demand(examination.shape == trust.shape == (TOP_K,), "affine has another length than top_k")
    gaps = np.where(shown, probabilities - relevance * examination - trust, 0.0)
    for which in (shown & (relevance < 0.5), shown & (relevance >= 0.5)):
        gap = np.abs(gaps.sum(0, where=which) / which.sum(0)).max()
        _demand(bool(gap < 0.05), f"affine disagrees with probabilities by {gap:.3f} at a rank")


def _check_rates(clicks: np.ndarray, probabilities: Floats, shown: np.ndarray) -> None:
    """Clicks come as often as they should, by rank, within five standard errors."""
    p = np.where(shown, probabilities, 0)
    n = shown.sum(0)
    rate, expected = (clicks & shown).sum(0) / n, p.sum(0) / n
    error = np.sqrt(np.maximum((p * (1 - p)).sum(0), 1)) / n
    off = np.abs(rate - expected) / error
    _demand(
        bool((off < 5).all()),
        f"click rates by rank {rate.round(3)} do not follow probabilities {expected.round(3)}",
    )


def check_reward(reward: RewardFunction, click_model: ClickModel | None = None) -> None:
    """One finite number per document, from statistics alone, the same each time."""
    _check_component(reward)
    model = click_model or TrustBias()
    data = tiny_clicks(model)
    reward.fit(data, model, seed=3)
    values = reward.mu(data, propensity_clip=0.1)
    _demand(values.shape == (data.dataset.n_documents,), "mu is not one number per document")
    _demand(bool(np.isfinite(values).all()), "mu has NaN or infinite values")
    unclipped = reward.mu(data)
    _demand(bool(np.isfinite(unclipped).all()), "mu is not finite without propensity clip")
    other = tiny_clicks(model, seed=5)
    _demand(
        reward.mu(other).shape == (other.dataset.n_documents,),
        "mu does not work on other queries than those it was fitted on",
    )
    nothing = tiny_clicks(model, n=1)
    _demand(bool(np.isfinite(reward.mu(nothing)).all()), "mu is not finite where nothing was shown")
    reward.fit(data, model, seed=3)
    _demand(
        np.array_equal(values, reward.mu(data, propensity_clip=0.1)),
        "the same seed gives another mu",
    )


def check_estimator(estimator: Estimator) -> None:
    """Elementwise, defined where production never shows a document, slope = derivative."""
    _check_component(estimator)
    _demand(
        estimator.guarantee in get_args(Guarantee),
        f"guarantee is {estimator.guarantee!r}; it must be one of {', '.join(get_args(Guarantee))}",
    )
    _demand(
        (estimator.guarantee == "enforced") == isinstance(estimator, Enforced),
        "an estimator enforces a guarantee if, and only if, it is an Enforced estimator",
    )
    dcg = rank_weights("dcg", TOP_K)
    estimator.prepare(EstimatorContext(10_000, dcg, "dcg", TrustBias()))
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.05, 1, size=(3, 40))
    logging_weights = rng.uniform(0.05, 1, size=(3, 40))
    logging_weights[:, :3] = 0.0
    rewards = rng.normal(size=(3, 40))
    rewards[:, 3:5] = 0.0
    gain = estimator.gain(weights, logging_weights, rewards)
    slope = estimator.slope(weights, logging_weights, rewards)
    _demand(gain.shape == slope.shape == weights.shape, "gain or slope is not elementwise")
    _demand(bool(np.isfinite(gain).all() and np.isfinite(slope).all()), "gain or slope not finite")
    _demand(
        np.allclose(
            gain[:, ::-1],
            estimator.gain(weights[:, ::-1], logging_weights[:, ::-1], rewards[:, ::-1]),
        ),
        "gain is not elementwise: it depends on the order of documents",
    )
    _check_slope(estimator, weights, logging_weights, rewards)
    padding = estimator.gain(np.zeros(2), np.zeros(2), np.zeros(2))
    _demand(bool((padding == 0).all()), "padding (weight, logging weight, reward 0) has a gain")
    lists = Lists.of_offsets(np.array([0, 40]))
    if isinstance(estimator, Enforced):
        share = estimator.served_share(weights[0], logging_weights[0], lists)
        _demand(bool((share >= 0).all() and (share <= 1).all()), "served_share is no share")
    exposure = Exposure(*3 * [logging_weights[0]])
    for given in (rewards[0], None):
        numbers = estimator.diagnostics(weights[0], exposure, given, lists)
        _demand(all(np.isfinite(list(numbers.values()))), "a number of diagnostics is not finite")


def _check_slope(
    estimator: Estimator, weights: Floats, logging_weights: Floats, rewards: Floats
) -> None:
    step = 1e-6

    def gain(at: Floats) -> Floats:
        values: Floats = estimator.gain(at, logging_weights, rewards)
        return values

    forward = (gain(weights + step) - gain(weights)) / step
    backward = (gain(weights) - gain(weights - step)) / step
    slope = estimator.slope(weights, logging_weights, rewards)
    low, high = np.minimum(forward, backward), np.maximum(forward, backward)
    fits = (slope >= low - 1e-4) & (slope <= high + 1e-4)
    _demand(
        bool(fits.all()),
        f"slope is not the derivative of gain: {slope[~fits][:1]} against {forward[~fits][:1]}",
    )
    if not isinstance(estimator, Penalised):
        return
    exposure = Exposure(logging_weights + 0.1, logging_weights + 0.1, logging_weights + 0.1)
    divergence = estimator.divergence(weights, exposure)
    moved = (estimator.divergence(weights + step, exposure) - divergence) / step
    _demand(
        np.allclose(moved, estimator.divergence_slope(weights, exposure), rtol=1e-3, atol=1e-3),
        "divergence_slope is not the derivative of divergence",
    )


def check_ranker(ranker: Ranker) -> None:
    """Finite, blind to padding, right for short lists, and uphill on a plain objective."""
    from cltr.objectives.plain import Plain

    _check_component(ranker)
    rng = np.random.default_rng(0)
    lengths = np.array([1, 3, 8, 8])
    mask = np.arange(8) < lengths[:, None]
    scores = np.where(mask, rng.normal(size=mask.shape), -np.inf)
    rewards = np.where(mask, rng.normal(size=mask.shape), 0.0)
    dcg = rank_weights("dcg", TOP_K)

    def run(scores: Floats, mask: np.ndarray, rewards: Floats) -> Floats:
        weights = ranker.policy.expected_weights(scores, Lists.of_mask(mask), dcg)
        zeros = np.zeros(mask.shape)
        objective = Objective(Plain(), weights, Exposure(zeros, zeros, zeros), rewards)
        return ranker.gradient(Batch(scores, mask, dcg), objective, np.random.default_rng(7))

    gradient = run(scores, mask, rewards)
    _demand(gradient.shape == scores.shape, "the gradient has another shape than the scores")
    _demand(bool(np.isfinite(gradient).all()), "the gradient is not finite")
    _demand(bool((gradient[~mask] == 0).all()), "the gradient of padding is not 0")
    _demand(bool((np.abs(gradient[0]) < 1e-5).all()), "a single document has a gradient")
    _demand(np.array_equal(gradient, run(scores, mask, rewards)), "the same seed, another gradient")
    wide = [
        np.pad(a, ((0, 0), (0, 3)), constant_values=c)
        for a, c in ((scores, -np.inf), (mask, False), (rewards, 0.0))
    ]
    _demand(np.allclose(gradient, run(*wide)[:, :8]), "more padding changes the gradient")
    steps = np.where(mask, gradient, 0.0)
    _demand(bool((steps[2:] * _exact(scores, mask, rewards)[2:]).sum() > 0), "it leads downhill")


def _exact(scores: Floats, mask: np.ndarray, rewards: Floats) -> Floats:
    lists = Lists.of_mask(mask)
    return PlackettLuce().gradient(scores, rewards, lists, rank_weights("dcg", TOP_K))


def check_scorer(scorer: Scorer) -> None:
    """Its model scores whole lists, climbs, and goes on from its state to the same bits."""
    _check_component(scorer)
    data = tiny_dataset()
    scores = data.features[:, 1].astype(np.float64)
    documents = Documents.of(replace(data, production=scores))
    setup = ModelSetup(
        data.n_features, data.n_documents, learning_rate=0.01, training=data.part("train")
    )

    def build() -> Model:
        return scorer.build(setup, seed=3)

    model = build()
    first = model.scores(documents)
    _demand(first.shape == (len(documents),), "scores are not one number per document")
    _demand(first.dtype == np.float64, f"scores are {first.dtype}, not float64")
    _demand(bool(np.isfinite(first).all()), "scores are not finite")
    _demand(np.array_equal(first, model.scores(documents)), "scoring twice gives other scores")
    _demand(np.array_equal(first, build().scores(documents)), "the same seed gives other scores")
    pieces = [part for _, part in documents.parts(1)]
    alone = np.concatenate([model.scores(part) for part in pieces])
    _demand(np.allclose(first, alone, atol=1e-5), "scores of a list depend on other lists")
    _check_steps(build, setup, scorer, documents)


def _check_steps(
    build: Callable[[], Model], setup: ModelSetup, scorer: Scorer, documents: Documents
) -> None:
    """Steps climb, and a model that is loaded after three of them makes the same fourth one."""
    target = documents.features[:, 0].astype(np.float64)
    lists = Lists.of_offsets(documents.offsets)
    climb = _Towards(target - (lists.sum(target) / lists.lengths)[lists.owners])
    model = build()
    before = model.scores(documents)
    for _ in range(3):
        model.step(documents, climb)
    state, rest = dict(model.state()), dict(model.training_state())
    kept = {name: array.copy() for name, array in state.items()}
    loaded = scorer.build(replace(setup, training=None), seed=3)
    loaded.load_state(state)
    _demand(
        np.array_equal(model.scores(documents), loaded.scores(documents)),
        "a model that loads a state scores otherwise than the model that gave it",
    )
    loaded.load_training_state(rest)
    model.step(documents, climb)
    loaded.step(documents, climb)
    again = model.scores(documents)
    _demand(np.array_equal(again, loaded.scores(documents)), "a resumed model steps otherwise")
    _demand(bool(np.isfinite(again).all()), "scores are not finite after a few steps")
    _demand(bool((climb.direction * (again - before)).sum() > 0), "steps lead downhill")
    _demand(
        all(np.array_equal(array, state[name]) for name, array in kept.items()),
        "a step changes arrays of a state that was given away",
    )
    model.load_state(state)
    model.load_training_state(rest)
    model.step(documents, climb)
    _demand(
        np.array_equal(again, model.scores(documents)),
        "a model that goes back to an earlier state steps otherwise",
    )


@dataclass
class _Towards:
    """A direction that hardly depends on the scores, but does."""

    direction: Floats
    asked: int = 0

    def __call__(self, scores: Floats) -> Floats:
        self.asked += 1
        _demand(scores.shape == self.direction.shape, "ascent is asked about other documents")
        return self.direction - 0.1 * scores

    def curvature(self, scores: Floats) -> Floats | None:
        return np.full(scores.shape, 0.1)


def check_log_reader(
    reader: LogReader, *paths: Path, n_impressions: int, n_clicks: int, n_interactions: int = 0
) -> None:
    """A file (or several) is read as what it is: all impressions and clicks, in known columns.

    Args:
        reader: the reader.
        paths: files of its kind.
        n_impressions: documents that were shown, all together.
        n_clicks: those of them that were clicked.
        n_interactions: lists that were shown; 0 if the log holds single impressions.
    """
    from cltr.files.table_files import workspace
    from cltr.logs.ingest import IngestOptions, LogSource, code, count

    _check_component(reader)
    with workspace() as connection:
        source = LogSource(paths, reader)
        try:
            tally = code(connection, source, IngestOptions())
            counted = count(tally, source).counted
        except DataError as error:
            raise AssertionError(f"the log is refused: {error}") from error
        shown, clicked = int(counted.impressions.sum()), int(counted.clicks.sum())
        _demand(shown == n_impressions, f"{shown} impressions are read, not {n_impressions}")
        _demand(clicked == n_clicks, f"{clicked} clicks are read, not {n_clicks}")
        _demand(tally.has_sessions == (n_interactions > 0), "sessions are lost or invented")
        if tally.has_sessions:
            found = counted.runs
            _demand(found == n_interactions, f"{found} interactions, not {n_interactions}")
        _demand(not tally.problems.counts, f"problems: {', '.join(tally.problems.counts)}")


def check_metric(metric: Metric) -> None:
    """A finite number for each query, the best ranking first, the same each time, in any order."""
    from cltr.policies.on_dataset import ScoredPolicy

    _check_component(metric)
    data = tiny_dataset(40)
    scores = data.features[:, 1].astype(np.float64)
    for policy in (PlackettLuce(), Deterministic()):
        values = metric.values(ScoredPolicy(data, scores, policy), top_k=TOP_K)
        if values is None:
            continue
        _demand(values.shape == (data.n_queries,), "values are not one number per query")
        _demand(bool(np.isfinite(values).all()), "a value is not finite")
        again = metric.values(ScoredPolicy(data, scores, policy), top_k=TOP_K)
        _demand(again is not None and np.array_equal(values, again), "another value each time")
    best, worst = (
        metric.values(ScoredPolicy(data, sign * data.labels, Deterministic()), top_k=TOP_K)
        for sign in (1.0, -1.0)
    )
    _demand(best is not None and worst is not None, "sorted rankings have no value")
    if best is not None and worst is not None:
        higher = bool((best >= worst - 1e-12).all() and (best > worst).any())
        _demand(higher, "the ideal ranking is not better than the reverse; a metric rises")
        unseen = replace(data, highest_grade=data.highest_grade, features=data.features * 0)
        same = metric.values(ScoredPolicy(unseen, data.labels, Deterministic()), top_k=TOP_K)
        _demand(same is not None and np.array_equal(same, best), "it depends on features")


def check_exporter(exporter: Exporter, *, scorers: Sequence[str] = ("linear", "mlp")) -> None:
    """What is written ranks documents as the model does, and is all that reading needs.

    Args:
        exporter: the exporter.
        scorers: those of the core that it can export; it must refuse ``table``, which has one
            number per document, in one line.
    """
    from tempfile import TemporaryDirectory

    from cltr.plugins import registry

    _check_component(exporter)
    _demand(exporter.suffix.startswith("."), f"suffix {exporter.suffix!r} does not begin with .")
    data = tiny_dataset()
    setup, documents = ModelSetup(data.n_features, data.n_documents), Documents.of(data)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"ranker{exporter.suffix}"
        for name in scorers:
            model = registry().create("scorer", name).build(setup, seed=3)
            ranker = TrainedRanker(name, model.state(), data.n_features, "plackett-luce", TOP_K)
            exporter.write(ranker, path)
            _demand(path.is_file(), "write does not write the file that it was given")
            own, found = model.scores(documents), type(exporter)().scores(path, documents)
            _demand(found.shape == own.shape, "scores are not one number per document")
            gaps = np.diff(own)[np.diff(data.lists.owners) == 0]
            found_gaps = np.diff(found)[np.diff(data.lists.owners) == 0]
            _demand(
                np.allclose(found_gaps, gaps, atol=1e-4 * np.ptp(own)),
                f"'{name}': the written file scores documents otherwise than the model",
            )
            path.unlink()
        _demand(_refuses_a_table(exporter, setup, path), "a ranker of another kind is not refused")


def _refuses_a_table(exporter: Exporter, setup: ModelSetup, path: Path) -> bool:
    from cltr.plugins import registry

    state = registry().create("scorer", "table").build(setup, seed=3).state()
    try:
        exporter.write(TrainedRanker("table", state, 0, "plackett-luce", TOP_K), path)
    except UnsupportedError as error:
        return "\n" not in str(error)
    return False


def check_data_layout(layout: DataLayout, folder: Path, *, n_files: int) -> None:
    """A folder of its kind is found, and an empty one is not.

    Args:
        layout: the layout.
        folder: with files as the data set's own archive leaves them.
        n_files: how many files there are in all splits together.
    """
    from tempfile import TemporaryDirectory

    _check_component(layout)
    _demand(bool(getattr(layout, "title", "")), "it has no title; messages name the data set by it")
    _demand(getattr(layout, "highest_grade", 0) > 0, "it does not say the highest grade")
    found = layout.find(folder, fold=None)
    _demand(found is not None, f"{folder} is not found, although it has this layout")
    files, _notes = found if found is not None else ({}, [])
    _demand("train" in files, "no training files are found")
    unknown = sorted(set(files) - set(SPLITS))
    _demand(not unknown, f"there is no split {', '.join(unknown)}; splits are {', '.join(SPLITS)}")
    paths = [path for group in files.values() for path in group]
    _demand(len(paths) == n_files, f"{len(paths)} files are found, not {n_files}")
    _demand(len(set(paths)) == len(paths), "a file is in two splits")
    missing = [str(path) for path in paths if not path.is_file()]
    _demand(not missing, f"{', '.join(missing)} is found but does not exist")
    with TemporaryDirectory() as empty:
        _demand(layout.find(Path(empty), fold=None) is None, "an empty folder is taken for it")


def check_question(question: LogQuestion) -> None:
    """It answers about logs with and without clicks, in whole findings, the same each time."""
    from cltr.checks import USES, Finding

    _check_component(question)
    for evidence in (tiny_evidence(), tiny_evidence(n=1)):
        found = list(question.ask(evidence))
        _demand(found == list(question.ask(evidence)), "the same log gives other findings")
        for finding in found:
            _demand(isinstance(finding, Finding), f"it found {finding!r}, which is no Finding")
            _demand(
                bool(finding.text and finding.why), f"'{finding.name}' does not say what and why"
            )
            unknown = sorted(set(finding.uses) - set(USES))
            _demand(not unknown, f"'{finding.name}': no use {', '.join(unknown)}; there are {USES}")
            serious = finding.level in ("warning", "fatal")
            _demand(
                bool(finding.advice) or not serious, f"'{finding.name}' does not say what to do"
            )


def tiny_evidence(*, n: int = 2000) -> "Evidence":
    """A small log of n interactions that stands alone, as ``cltr check`` sees it."""
    from cltr.checks import Evidence
    from cltr.logs.log_file import LogFile

    train, valid = tiny_clicks(n=n), tiny_clicks(n=max(n // 4, 1))
    statistics = {"train": train.statistics, "valid": valid.statistics}
    return Evidence(LogFile(statistics, None, lists=train.dataset))


def check_command(command: Command) -> None:
    """It builds a click command of its name, with help, whose help page can be shown."""
    import click

    _check_component(command)
    built = command.build()
    _demand(isinstance(built, click.Command), "build does not return a click command")
    _demand(built.name == command.name, f"it is called '{built.name}', not '{command.name}'")
    _demand(bool(built.get_short_help_str()), "it has no docstring; --help shows it")
    for parameter in built.params:
        described = not isinstance(parameter, click.Option) or parameter.help
        _demand(bool(described), f"option {'/'.join(parameter.opts)} has no help")
    built.get_help(click.Context(built, info_name=command.name))


def _demand(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)
