"""Ctrl-C and SIGTERM end every command within two seconds, also inside compiled code.

Python handles a signal between two of its own instructions, so compiled code can delay it for
minutes. A thread hears of the signal at once. It gives the command some time to end by itself, and
ends the process if it does not: its partial files and its worker processes go with it.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

PATIENCE = 1.2
"""Seconds in which a command may end by itself."""
SOON = 0.05
"""Seconds until a process has been started."""
STARTING = os.path.join("multiprocessing", "popen_spawn_posix.py")
"""Python's own module that starts processes."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
_received = 0


def exit_code() -> int:
    """128 and the number of the signal that came; that of Ctrl-C if none did."""
    return 128 + (_received or signal.SIGINT)


def interrupted() -> bool:
    """Whether a signal has come."""
    return _received != 0


def message() -> str:
    """One line for the user."""
    from cltr.files.launched import LOST, launched
    from cltr.files.resuming import how_to_resume

    ended = LOST if launched() > 1 and _received == signal.SIGTERM else "interrupted"
    return f"{ended}; {how_to_resume()}"


def ignore_signals() -> None:
    """Go on whatever comes, to the end of a process that is about to say why it ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def end_on_signals() -> Iterator[None]:
    """Handle signals like this; from the main thread only.

    At the end, all is done but Python's own clearing up: a signal then ends it without a word.
    """
    heard, told = os.pipe()
    os.set_blocking(told, False)
    for number in SIGNALS:
        signal.signal(number, _handle)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    sys.unraisablehook = _tell_unless_interrupted
    threading.Thread(target=_listen, args=(heard,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        if not interrupted():  # else Python's clearing up may miss what is gone
            sys.unraisablehook = sys.__unraisablehook__
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)


def _handle(number: int, frame: FrameType | None) -> None:
    _note(number)
    if _starts_a_process(frame):  # without its parent it would show a traceback
        threading.Timer(SOON, signal.raise_signal, (number,)).start()
        return
    raise KeyboardInterrupt


def _starts_a_process(frame: FrameType | None) -> bool:
    """Whether a worker process is just being started."""
    while frame is not None:
        if frame.f_code.co_filename.endswith(STARTING):
            return True
        frame = frame.f_back
    return False


def _tell_unless_interrupted(lost: "sys.UnraisableHookArgs") -> None:
    """After a signal Python would show tracebacks of what it can raise nowhere.

    That may be the interruption itself, if it comes while an object is removed; the thread that
    heard of the signal ends the process nevertheless.
    """
    if not (interrupted() or issubclass(lost.exc_type, KeyboardInterrupt)):
        sys.__unraisablehook__(lost)


def _note(number: int) -> None:
    global _received  # noqa: PLW0603  # signals are the process's
    _received = number


def _listen(heard: int) -> None:
    """Wait for a signal; end the process if it has not ended some time later."""
    while (number := os.read(heard, 1)[0]) not in SIGNALS:
        pass
    _note(number)
    threading.Event().wait(PATIENCE)
    end_now()


def end_now() -> NoReturn:
    """End the process after a signal, without waiting for threads of compiled code."""
    end_with(message(), exit_code())


def end_with(reason: str, code: int = 1) -> NoReturn:
    """End the process with a message, from any thread, whatever the others do.

    Args:
        reason: why, and how to go on.
        code: that the process ends with.
    """
    from multiprocessing import active_children

    from cltr.files.claims import abandon
    from cltr.files.launched import speaks
    from cltr.report.visible import visible

    for child in active_children():
        child.kill()
    abandon()
    if speaks():
        os.write(2, f"Error: {visible(reason)}\n".encode("utf-8", "replace"))
    os._exit(code)
