"""duckdb's SQL written for other engines, by sqlglot; and what sqlglot does not know."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from cltr.errors import UsageError

Expression: TypeAlias = Any
"""A node of sqlglot."""

DIALECTS = ("spark", "bigquery", "snowflake", "trino")
_FORMS = {
    "%Y%m%d": "yyyyMMdd",
    "%Y%m%dT%H%M%SZ": "yyyyMMdd'T'HHmmss'Z'",
    "%Y%m%d %H:%M:%S": "yyyyMMdd HH:mm:ss",
    "%a, %d %b %Y %H:%M:%S GMT": "d MMM yyyy HH:mm:ss 'GMT'",
    "%a, %d %b %Y %H:%M:%S %z": "d MMM yyyy HH:mm:ss xx",
    "%d/%b/%Y:%H:%M:%S %z": "d/MMM/yyyy:HH:mm:ss xx",
    "%d %b %Y %H:%M:%S": "d MMM yyyy HH:mm:ss",
}
"""Forms of times as duckdb and as Spark writes them; Spark reads no names of days."""
_DAY_NAME = "^[A-Z][a-z][a-z], "
_ISO = "^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T].*)?$"
_MICROSECONDS = {
    "spark": "unix_micros(CAST({} AS TIMESTAMP))",
    "bigquery": "UNIX_MICROS(CAST({} AS TIMESTAMP))",
    "snowflake": "DATE_PART(EPOCH_MICROSECOND, CAST({} AS TIMESTAMP_TZ))",
    "trino": "to_unixtime(CAST({} AS TIMESTAMP(6) WITH TIME ZONE)) * 1000000",
}


def sqlglot_module() -> Any:
    """The package, or an error that says how to install it."""
    try:
        import sqlglot
    except ModuleNotFoundError as error:
        raise UsageError("SQL for other engines needs sqlglot: pip install 'cltr[sql]'") from error
    return sqlglot


def translate(sql: str, dialect: str) -> str:
    """A query of duckdb for another engine; what cannot be said there is an error."""
    sqlglot = sqlglot_module()
    tree = sqlglot.parse_one(sql, read="duckdb")
    for node in reversed(list(tree.walk())):  # what is inside comes first
        changed = _replaced(node, dialect)
        if changed is not node:
            node.replace(changed)
    try:
        return str(
            tree.sql(dialect=dialect, identify=True, unsupported_level=sqlglot.ErrorLevel.RAISE)
        )
    except sqlglot.errors.UnsupportedError as error:
        raise UsageError(f"--emit-sql {dialect}: {str(error).splitlines()[0]}") from error


def one_query(statements: Mapping[str, str], dialect: str) -> str:
    """All statements as one query for another engine, laid out for people."""
    sqlglot = sqlglot_module()
    *before, last = statements
    listed = ",\n".join(
        f"{name} AS (\n{translate(statements[name], dialect)}\n)" for name in before
    )
    whole = f"WITH {listed}\n{translate(statements[last], dialect)}"
    return str(sqlglot.transpile(whole, read=dialect, write=dialect, pretty=True, identify=True)[0])


def _replaced(node: Expression, dialect: str) -> Expression:
    """What an expression of duckdb is elsewhere."""
    from sqlglot import exp

    if isinstance(node, exp.Identifier) and " " in node.name:
        return exp.to_identifier(node.name.replace(" ", "_"), quoted=True)
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.UTINYINT:
        return exp.DataType.build("BIGINT")
    name = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__
    change = _CHANGES.get(name)
    return node if change is None else change(node, dialect)


def _matched(node: Any, dialect: str) -> Expression:
    """A text that matches a pattern as a whole."""
    from sqlglot import exp

    start, end = (r"\A", r"\z") if dialect in ("spark", "trino") else ("^", "$")
    pattern = _text(f"{start}({node.expression.name}){end}")
    return exp.RegexpLike(this=node.this.copy(), expression=pattern)


def _floor(node: Any, dialect: str) -> Expression:
    """Of numbers that are not negative."""
    from sqlglot import exp

    del dialect
    return exp.Floor(this=node.this.copy())


def _is_nan(node: Any, dialect: str) -> Expression:
    """By its text, which is the same in all engines."""
    from sqlglot import exp

    del dialect
    return exp.EQ(this=_lower(node.this), expression=_text("nan"))


def _finite(node: Any, dialect: str) -> Expression:
    from sqlglot import exp

    del dialect
    strange = ("nan", "inf", "-inf", "infinity", "-infinity")
    listed = [_text(one) for one in strange]
    return exp.Not(this=exp.In(this=_lower(node.expressions[0]), expressions=listed))


def _lower(value: Expression) -> Expression:
    from sqlglot import exp

    return exp.func("lower", exp.cast(value.copy(), "VARCHAR"))


def _text(value: str) -> Expression:
    from sqlglot import exp

    return exp.Literal.string(value)


def _tried(node: Any, dialect: str) -> Expression:
    """A cast that gives NULL where it fails; Snowflake casts text only, Spark reads too much."""
    from sqlglot import exp

    is_time = node.to.is_type("TIMESTAMPTZ", "TIMESTAMP")
    if dialect == "snowflake":
        kind = "TIMESTAMP_TZ" if is_time else "DOUBLE"
        return exp.Anonymous(this=f"TRY_TO_{kind}", expressions=[node.this.copy()])
    if not is_time:
        return node
    whole = exp.RegexpLike(this=node.this.copy(), expression=_text(_ISO))
    return exp.Case(ifs=[exp.If(this=whole, true=node.copy())])


def _seconds(node: Any, dialect: str) -> Expression:
    """Seconds since 1970, with their fraction."""
    import sqlglot
    from sqlglot import exp

    written = _MICROSECONDS[dialect].format(node.this.sql(dialect=dialect, identify=True))
    number = exp.cast(sqlglot.parse_one(written, read=dialect), "DOUBLE")
    return exp.Paren(this=exp.Div(this=number, expression=exp.Literal.number("1000000.0")))


def _parsed_time(node: Any, dialect: str) -> Expression:
    """Spark reads all forms; elsewhere times are numbers or ISO 8601."""
    from sqlglot import exp

    if dialect != "spark":
        return exp.cast(exp.Null(), "TIMESTAMP")
    words, forms = node.expressions
    named = [form.name for form in (forms.expressions or [forms])]
    plain = exp.func("regexp_replace", words.copy(), _text(_DAY_NAME), _text(""), dialect="spark")
    tries = [
        exp.Anonymous(
            this="try_to_timestamp",
            expressions=[(plain if form.startswith("%a") else words).copy(), _text(_FORMS[form])],
        )
        for form in named
    ]
    return exp.Coalesce(this=tries[0], expressions=tries[1:])


_CHANGES = {
    "RegexpFullMatch": _matched,
    "Trunc": _floor,
    "IsNan": _is_nan,
    "TryCast": _tried,
    "TimeToUnix": _seconds,
    "isfinite": _finite,
    "try_strptime": _parsed_time,
}
"""What is written anew, by sqlglot's name, or by its own name where sqlglot has none."""
