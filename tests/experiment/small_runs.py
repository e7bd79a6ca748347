"""Experiments on a small data set in tests."""

from cltr.experiment.components import compose
from cltr.experiment.experiment import Experiment
from cltr.exposure.production_ranker import Production
from tests import small

DATA = small.dataset()


def produce(dataset=DATA, **values) -> Production:
    return Experiment.simulated(small.config(**values), dataset=dataset).production


def experiment(production=None, components=None, **values) -> Experiment:
    config = small.config(**values)
    production = production or produce(**values)
    return Experiment(config, components or compose(config), DATA, production)


def clicks(production: Production, **values):
    return experiment(production, **values).simulate()


def learn(components=None, production=None, **values):
    run = experiment(production, components, **values)
    return run.learn(run.reward(run.simulate()))


def state_of(model) -> dict:
    return {key: value.tolist() for key, value in model.state().items()}
