"""Many runs as one experiment: methods by numbers of interactions, seeds and users.

``study`` says what is compared, ``bench`` computes one cell and shares what cells have in common,
``runner`` does all cells in parallel and goes on after a kill, with an ``arithmetic`` that gives
the same numbers on all common processors, ``summary`` and ``drawing`` show
what came out, ``figures`` and ``statements`` know the paper.
"""
