"""Names to components: what a configuration asks for, built and checked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cltr.clickmodels import Adversarial
from cltr.config import Choice, RunConfig
from cltr.errors import UsageError
from cltr.fingerprints import file_fingerprint
from cltr.interfaces import ClickModel, Component, Estimator, Ranker, RewardFunction, Scorer
from cltr.modelfiles import load_click_model
from cltr.plugins import registry

FITTED = "fitted:"
"""What the name of a click model from a file of ``cltr fit`` begins with."""


@dataclass(frozen=True)
class Components:
    """All that a run is composed of."""

    click_model: ClickModel
    users: ClickModel
    reward: RewardFunction
    estimator: Estimator
    ranker: Ranker
    scorer: Scorer


def build(role: str, choice: Choice, *, owner: str = "", **parts: Any) -> Any:
    """A component by role and name, its options checked; errors name ``owner.key``.

    A click model may also be one that was fitted before: ``fitted:FILE``.
    """
    if role == "click-model" and choice.name.startswith(FITTED):
        return _fitted(choice, owner=owner or role)
    component = registry().find(role, choice.name)
    component.Options.parse(choice.options, owner=owner or role)
    return component(**parts, **choice.options)


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


def compose(config: RunConfig) -> Components:
    """The components that a configuration names."""
    click_model = _assumed(config)
    reward = build("reward", config.reward)
    return Components(
        click_model=click_model,
        users=_users(config, click_model),
        reward=reward,
        estimator=build("estimator", config.estimator, reward=reward),
        ranker=build("ranker", config.ranker),
        scorer=build("scorer", config.scorer),
    )


def compose_users(config: RunConfig) -> ClickModel:
    """The users of a simulation alone."""
    return _users(config, _assumed(config))


def _assumed(config: RunConfig) -> ClickModel:
    if config.click_model.name == Adversarial.name:
        raise UsageError(
            f"--click-model is '{Adversarial.name}', which is how users are simulated, not how "
            f"clicks are corrected; use --users {Adversarial.name}"
        )
    model: ClickModel = build("click-model", config.click_model)
    return model


def _users(config: RunConfig, assumed: ClickModel) -> ClickModel:
    if config.users is None:
        return assumed
    if config.users.name != Adversarial.name:
        users: ClickModel = build("click-model", config.users, owner="users")
        return users
    reversed_name = config.users.options.get("of")
    model = build("click-model", Choice(name=reversed_name)) if reversed_name else assumed
    users = build("click-model", config.users, owner="users", model=model)
    return users


def resolved(config: RunConfig, parts: Components) -> RunConfig:
    """The configuration with every default of every component written out."""

    def full(component: Component, choice: Choice) -> dict[str, Any]:
        if choice.name.startswith(FITTED):
            return {"name": choice.name}
        return {"name": component.name, **component.options.model_dump(mode="json")}

    values = config.model_dump(mode="json", exclude_none=True)
    for role in ("click_model", "reward", "estimator", "ranker", "scorer"):
        values[role] = full(getattr(parts, role), getattr(config, role))
    if not config.log:
        values["users"] = full(parts.users, config.users or config.click_model)
    return RunConfig.parse(values, owner="")
