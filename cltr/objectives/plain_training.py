"""Which estimators train the same model: those whose gain is the plain one."""

from inspect import unwrap

from cltr.interfaces import Estimator
from cltr.objectives.band import Band
from cltr.objectives.plain import Plain


def trains_as_plain(estimator: Estimator) -> bool:
    """Whether training has the same bits as with ``plain``; what is served may differ.

    Example:
        >>> from cltr.objectives.budget import Budget
        >>> [trains_as_plain(one) for one in (Plain(), Budget(), Band(), Band(box=True))]
        [True, True, True, False]
    """
    own: type[Estimator] = Band if isinstance(estimator, Band) else Plain
    if not isinstance(estimator, own) or (isinstance(estimator, Band) and estimator.price):
        return False
    return all(
        unwrap(getattr(type(estimator), name)) is unwrap(getattr(own, name))
        for name in ("gain", "slope")
    )
