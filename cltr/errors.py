"""What a user can get wrong, one class each; every message is one line that says what to do."""


class CltrError(Exception):
    """Base class of all errors that the user sees as one line (exit code 1)."""

    exit_code = 1


class UsageError(CltrError):
    """A wrong word on the command line or in a run file (exit code 2)."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A component was asked for by a name that nobody registers, or that two packages register."""


class OptionError(UsageError):
    """An option that does not exist, or a value that it does not take."""


class PluginError(CltrError):
    """A plugin cannot be loaded or does not keep its contract."""


class DataError(CltrError):
    """A file that cannot be read as what it should be."""


class NotFiniteError(DataError):
    """Numbers that are NaN or infinite where only finite ones make sense."""


class UnsupportedError(CltrError):
    """A component was asked for something that it cannot do."""
