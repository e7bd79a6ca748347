"""Run a task in a process of its own, for tests that kill it or take its disk away."""

import os
import warnings


def start(task):
    """Begin ``task`` in a child; returns what :func:`finish` needs."""
    receive, send = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns that a fork copies no threads; the tasks here need none.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            answer = str(task())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(send, answer.encode())
        os._exit(0)
    os.close(send)
    return child, receive


def finish(child, receive):
    """What the task returned or raised, as text; None if the child was killed."""
    with open(receive, "rb") as stream:
        answer = stream.read().decode()
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else answer


def run(task):
    """Begin and finish."""
    return finish(*start(task))
