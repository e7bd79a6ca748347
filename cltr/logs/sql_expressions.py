"""SQL that makes numbers of what logs hold, whatever its type; nonsense stays visible."""

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_FRACTIONS = ("FLOAT", "DOUBLE")


def is_whole(kind: str) -> bool:
    """Whether a type of duckdb holds whole numbers.

    Example:
        >>> is_whole("UBIGINT"), is_whole("DOUBLE")
        (True, False)
    """
    return kind.upper().removeprefix("U") in _WHOLE


def is_number(kind: str) -> bool:
    """Whether a type of duckdb holds numbers."""
    return is_whole(kind) or kind.upper() in _FRACTIONS or kind.upper().startswith("DECIMAL")


def whole_number(expression: str, kind: str, *, first: int = 1) -> str:
    """A position, counted from 1; -1 where there is a value that is no whole number.

    Args:
        expression: SQL of the position as it is.
        kind: its type.
        first: number of the first position.
    """
    shift = f" + {1 - first}" if first != 1 else ""
    if is_whole(kind):
        return f"({expression}{shift})" if shift else expression
    digits = f"trim({expression}::VARCHAR)"
    return (
        f"CASE WHEN {expression} IS NULL THEN NULL "
        f"WHEN regexp_full_match({digits}, '[+]?[0-9]{{1,9}}([.]0*)?') "
        f"THEN trunc(try_cast({digits} AS DOUBLE))::BIGINT{shift} ELSE -1 END"
    )


NOWHERE, BEFORE, ZERO = 0, -1, -2
"""Ranks of rows without a position, with one that makes no sense, and with one too low by 1."""


def rank_code(rank: str) -> str:
    """A position as it is counted: small, and with a number for each way to make no sense."""
    return (
        f"CASE WHEN {rank} IS NULL THEN {NOWHERE} WHEN {rank} = 0 THEN {ZERO} "
        f"WHEN {rank} < 1 THEN {BEFORE} WHEN {rank} > 32767 THEN 32767 ELSE {rank} END"
    )


NO_CLICK, CLICK, CLICKS, UNKNOWN = range(4)
"""What an impression led to: nothing, a click, several, or something that cannot be told."""
CLICKED = f"state IN ({CLICK}, {CLICKS})"
"""SQL that is true for rows with a click."""


def click_state(expression: str, kind: str) -> str:
    """What an impression led to, by number."""
    if kind.upper() == "BOOLEAN":
        return (
            f"CASE WHEN {expression} THEN {CLICK} WHEN NOT {expression} THEN 0 ELSE {UNKNOWN} END"
        )
    value = expression
    if not is_number(kind):
        word = f"lower(trim({expression}::VARCHAR))"
        value = (
            f"CASE WHEN {word} IN ('true', 't', 'yes', 'y') THEN 1.0 "
            f"WHEN {word} IN ('false', 'f', 'no', 'n') THEN 0.0 "
            f"WHEN regexp_full_match({word}, '[0-9]{{1,9}}([.]0*)?') "
            f"THEN try_cast({word} AS DOUBLE) END"
        )
    strange = "" if is_whole(kind) else f"WHEN isnan(({value})::DOUBLE) THEN {UNKNOWN} "
    return (
        f"CASE {strange}WHEN {value} = 0 THEN {NO_CLICK} WHEN {value} = 1 THEN {CLICK} "
        f"WHEN {value} > 1 THEN {CLICKS} ELSE {UNKNOWN} END"
    )


def seconds(expression: str, kind: str, *, dates: bool = False) -> str:
    """A time as a number that grows: seconds since 1970, or the number that it was if it is small.

    Numbers are seconds, milliseconds, microseconds or nanoseconds by their size. Text without a
    zone is UTC. What cannot be read is NULL.

    Args:
        expression: SQL of the time as it is.
        kind: its type.
        dates: whether numbers are dates such as 20240131.
    """
    if kind.upper().startswith("TIMESTAMP") or kind.upper() == "DATE":
        return f"epoch({expression})"
    words = f"trim({expression}::VARCHAR)"
    if dates:
        return f"epoch(try_strptime({words}, '%Y%m%d'))"
    if is_number(kind):
        return _since_1970(f"({expression})::DOUBLE")
    forms = ", ".join(f"'{form}'" for form in _FORMS)
    point = f"replace({words}, ',', '.')"
    return (
        f"coalesce({_since_1970(f'try_cast({words} AS DOUBLE)')}, "
        f"epoch(try_cast({point} AS TIMESTAMPTZ)), epoch(try_strptime({words}, [{forms}])))"
    )


_FORMS = (
    "%Y%m%dT%H%M%SZ",
    "%Y%m%d %H:%M:%S",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%a, %d %b %Y %H:%M:%S %z",
    "%d/%b/%Y:%H:%M:%S %z",
    "%d %b %Y %H:%M:%S",
)
"""Beside ISO 8601; none in which a day could be a month."""


def _since_1970(number: str) -> str:
    sizes = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
    cases = " ".join(
        f"WHEN abs({number}) >= {least:g} THEN {number} / {unit:g}" for least, unit in sizes
    )
    return f"CASE WHEN isfinite({number}) THEN CASE {cases} ELSE {number} END END"


def are_dates(expression: str, kind: str) -> str:
    """A query on ``raw`` whether all numbers of a column of times are dates such as 20240131."""
    if not is_whole(kind) and kind.upper() != "VARCHAR":
        return "SELECT false"
    word = f"trim({expression}::VARCHAR)"
    return (
        f"SELECT coalesce(bool_and(regexp_full_match({word}, '(19|20)[0-9]{{6}}') AND "
        f"try_strptime({word}, '%Y%m%d') IS NOT NULL), false) FROM raw "
        f"WHERE {expression} IS NOT NULL"
    )
