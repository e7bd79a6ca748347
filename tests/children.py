"""Run a task in a process of its own, for tests that kill it or take its disk away."""

import os


def start(task):
    """Begin ``task`` in a child; returns what :func:`finish` needs."""
    receive, send = os.pipe()
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
