"""The training loop of a run, and what its estimator is told before."""

from cltr.experiment.components import Components
from cltr.experiment.config import RunConfig
from cltr.experiment.plan import Plan
from cltr.experiment.seeds import seed_for
from cltr.interfaces import EstimatorContext
from cltr.policies.rank_weights import rank_weights
from cltr.training.loop import Trainer
from cltr.types import Floats


def training_weights(config: RunConfig, components: Components) -> Floats:
    """Rank weights of the training metric, ``[K]``."""
    return rank_weights(config.metric, config.top_k, components.click_model)


def prepare_estimator(
    config: RunConfig, components: Components, plan: Plan, n_interactions: int, n_queries: int
) -> None:
    """Tell the estimator what its schedules and bounds depend on.

    Args:
        config: of the run.
        components: with its click model.
        plan: whether to learn, in a narrow band or not.
        n_interactions: of the training queries.
        n_queries: training queries with interactions.
    """
    components.estimator.prepare(
        EstimatorContext(
            n_interactions,
            training_weights(config, components),
            config.metric,
            components.click_model,
            n_queries,
            plan == "narrow",
        )
    )


def make_trainer(config: RunConfig, components: Components, plan: Plan) -> Trainer:
    """The training loop of a run; it makes no step if the run stays with production."""
    options = config.training
    if plan == "stay":
        options = options.model_copy(update={"epochs": 0})
    return Trainer(
        components.estimator,
        components.ranker,
        training_weights(config, components),
        options,
        seed=seed_for(config.seed, "training"),
    )
