"""Build the components that a configuration names: click model, reward, estimator and so on."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cltr.clicks.model_file import load_click_model
from cltr.clicks.models import Adversarial
from cltr.errors import UnknownNameError, UnsupportedError, UsageError
from cltr.experiment.config import AUTO, RunConfig
from cltr.extensions import Metric
from cltr.files.fingerprints import file_fingerprint
from cltr.interfaces import ClickModel, Component, Estimator, Ranker, RewardFunction, Scorer
from cltr.options import Choice
from cltr.plugins import missing_plugins, plugins_of, registry
from cltr.plugins.seam import guard_ranker
from cltr.types import Floats

FITTED = "fitted:"
"""What the name of a click model from a file of ``cltr fit`` begins with."""
PARTS = ("click_model", "reward", "users", "estimator", "ranker", "scorer", "metrics")


class ToBeFitted(ClickModel):
    """Stands for the click model of ``--click-model auto`` until it is fitted to the clicks."""

    name = AUTO

    def probabilities(self, relevance: Floats, context: Mapping[str, NDArray[Any]]) -> Floats:
        del relevance, context
        raise UsageError(
            f"--click-model {AUTO} is fitted to the clicks of a run; here name a click model"
        )


class Components:
    """All that a run is composed of; each part is built when it is first asked for."""

    def __init__(self, config: RunConfig, **given: Any) -> None:
        self.config = config
        self.__dict__.update(given)  # where cached_property looks first

    def replace(self, **parts: Any) -> "Components":
        """The same components, with some parts given."""
        built = {name: self.__dict__[name] for name in PARTS if name in self.__dict__}
        return Components(self.config, **{**built, **parts})

    @cached_property
    def click_model(self) -> ClickModel:
        """The assumed click model."""
        if self.config.click_model.name == Adversarial.name:
            raise UsageError(
                f"--click-model is '{Adversarial.name}', which is how users are simulated, not how "
                f"clicks are corrected; use --users {Adversarial.name}"
            )
        if self.config.click_model.name == AUTO:
            return ToBeFitted()
        model: ClickModel = build("click-model", self.config.click_model)
        return model

    @cached_property
    def users(self) -> ClickModel:
        """How simulated users click; as the click model says unless the run file names others."""
        choice = self.config.users
        if choice is None:
            return self.click_model
        if choice.name != Adversarial.name:
            users: ClickModel = build("click-model", choice, owner="users")
            return users
        reversed_name = choice.options.get("of")
        model = build("click-model", Choice(name=reversed_name)) if reversed_name else None
        if model is None and self.config.click_model.name != AUTO:
            model = self.click_model
        users = build("click-model", choice, owner="users", model=model)
        return users

    @cached_property
    def reward(self) -> RewardFunction:
        """How clicks become relevance estimates."""
        reward: RewardFunction = build("reward", self.config.reward)
        return reward

    @cached_property
    def estimator(self) -> Estimator:
        """What is maximised."""
        estimator: Estimator = build("estimator", self.config.estimator, reward=self.reward)
        return estimator

    @cached_property
    def ranker(self) -> Ranker:
        """The gradient method."""
        ranker: Ranker = build("ranker", self.config.ranker)
        guard_ranker(ranker)
        return ranker

    @cached_property
    def scorer(self) -> Scorer:
        """The model that scores documents."""
        scorer: Scorer = build("scorer", self.config.scorer)
        return scorer

    @cached_property
    def metrics(self) -> list[Metric]:
        """Metrics to report beside those that are always reported."""
        return [build("metric", one, owner=one.name) for one in self.config.evaluation.metrics]


def compose(config: RunConfig, *, needs: Mapping[str, str] | None = None) -> Components:
    """All components that a configuration names, built now, so that errors come before the work.

    Args:
        config: of the run.
        needs: plugins that the run or study was made with, for an error to name one that is
            missing; those that the run file records by default.
    """
    components = Components(config)
    for name in PARTS:
        try:
            getattr(components, name)
        except UnknownNameError as error:
            made_with = config.provenance
            known = needs or made_with.get("plugins") or made_with.get("versions", {})
            raise UnknownNameError(f"{error}{missing_plugins(known)}") from error
    estimator = components.estimator
    for objection in (components.ranker.objection(estimator), estimator.objection(config.metric)):
        if objection is not None:
            raise UnsupportedError(objection)
    return components


def needed_plugins(components: Components) -> dict[str, str]:
    """The plugins that the components come from: packages by version, files by content."""
    single = [getattr(components, name) for name in PARTS if name != "metrics"]
    return plugins_of([*single, *components.metrics])


def build(role: str, choice: Choice, *, owner: str = "", **parts: Any) -> Any:
    """A component by role and name, its options checked; errors name ``owner.key``.

    A click model may also be one that was fitted before: ``fitted:FILE``.
    """
    if role == "click-model" and choice.name.startswith(FITTED):
        return _fitted(choice, owner=owner or role)
    component = registry().find(role, choice.name)
    component.Options.parse(choice.options, owner=owner or role)
    return registry().create(role, choice.name, **parts, **choice.options)


def _fitted(choice: Choice, *, owner: str) -> ClickModel:
    if choice.options:
        key = next(iter(choice.options))
        raise UsageError(
            f"{owner}.{key}: '{choice.name}' takes its options from its file; "
            "fit it again with other ones"
        )
    path = choice.name.removeprefix(FITTED)
    if not path:
        raise UsageError(f"--{owner} {FITTED}: name the file, such as {FITTED}models/pbm.h5")
    return load_click_model(Path(path))


def fitted_files(config: RunConfig) -> dict[str, str]:
    """Fingerprints of the files of fitted click models that a configuration names."""
    users = config.users or config.click_model
    names = {config.click_model.name, users.name, str(users.options.get("of"))}
    paths = {name.removeprefix(FITTED) for name in names if name.startswith(FITTED)}
    return {path: file_fingerprint(Path(path)) for path in sorted(paths) if Path(path).is_file()}


def resolved(config: RunConfig, components: Components) -> RunConfig:
    """The configuration with every default of every component written out."""

    def full(component: Component, choice: Choice) -> dict[str, Any]:
        if choice.name.startswith(FITTED) or choice.name == AUTO:
            return {"name": choice.name}
        return {"name": component.name, **component.options.model_dump(mode="json")}

    values = config.model_dump(mode="json", exclude_none=True)
    for role in ("click_model", "reward", "estimator", "ranker", "scorer"):
        values[role] = full(getattr(components, role), getattr(config, role))
    if not config.log:
        values["users"] = full(components.users, config.users or config.click_model)
    return RunConfig.parse(values, owner="")
