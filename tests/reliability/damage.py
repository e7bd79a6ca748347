"""Ways to damage a file: by byte, by token, and by structure. A seed decides all of it."""

import io
import json
import tomllib
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

Damage = Callable[[Random, bytes], bytes]
ODD_TOKENS = (
    *(b"", b"-1", b"0", b"1e400", b"-1e400", b"nan", b"NaN", b"Infinity", b"9" * 5000, b"1.5"),
    *(b"99999999999999999999", b"\xff\xfe", b"\x00", b"\x1b[31m", b"[/red]", b"<b>", b"true"),
    *(b"null", b'"', b"'", b"{", b"}", b"[" * 3000, b"]", b",", b"\t", b"\r\n", b"\n", b":"),
    *(b"qid:", b"#", b"\xe2\x80\xae", b"\xed\xa0\x80", b"x" * 70_000, b"../..", b"~", b"0x1f"),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2**31, 2**63, 10**30, -(10**19), 0.5, -0.5, 1e308, 5e-324),
    *(float("nan"), float("inf"), float("-inf"), "", "x", "x" * 20_000, "\x1b[31m", "[/red]"),
    *("<script>", "\ud800", "../../etc/passwd", "demo", "auto", "none.h5", "fitted:none.h5"),
    *([], [1, 2], [[]], [None], ["a"], {}, {"name": [1, 2]}, {"": {}}, {"a": {"b": {"c": 1}}}),
)
MOST_DEPTH = 5_000


def damage_bytes(rng: Random, content: bytes) -> bytes:
    """Flip, set, cut out, repeat or insert bytes; a few times."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        place = rng.randrange(len(changed) + 1)
        way = rng.randrange(6)
        if way == 0 and place < len(changed):
            changed[place] ^= 1 << rng.randrange(8)
        elif way == 1 and place < len(changed):
            changed[place] = rng.choice((0, 1, 127, 128, 254, 255))
        elif way == 2:
            width = rng.choice((2, 4, 8))
            changed[place : place + width] = rng.choice((b"\x00", b"\xff", b"\x80")) * width
        elif way == 3:
            del changed[place : place + rng.choice((1, 8, 64, 1024))]
        elif way == 4:
            other = rng.randrange(len(changed) + 1)
            changed[place:place] = changed[other : other + rng.choice((1, 8, 64, 512))]
        else:
            changed[place:place] = rng.randbytes(rng.choice((1, 4, 32)))
    return bytes(changed)


def cut(rng: Random, content: bytes) -> bytes:
    """Only the beginning of the file, as after a copy that was stopped."""
    return content[: rng.randrange(len(content) - 1)]


def damage_tokens(rng: Random, content: bytes) -> bytes:
    """Replace, drop, repeat or swap words of a text file."""
    lines = content.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 5))):
        row = rng.randrange(len(lines))
        separator = rng.choice((b",", b" ", b"\t", b":", b'"'))
        words = lines[row].split(separator)
        place = rng.randrange(len(words))
        way = rng.randrange(5)
        if way <= 1:
            words[place] = rng.choice(ODD_TOKENS)
        elif way == 2:
            del words[place]
        elif way == 3:
            words.insert(place, words[rng.randrange(len(words))])
        else:
            lines[row], lines[0] = lines[0], lines[row]
            continue
        lines[row] = separator.join(words)
    return b"\n".join(lines)


def damage_json(rng: Random, content: bytes) -> bytes:
    """Another value, a missing key, a key too many, or very deep nesting, somewhere inside."""
    tree = json.loads(content)
    way = rng.randrange(12)
    if way == 0:
        deep = rng.choice(("[", '{"a":')) * MOST_DEPTH
        return deep.encode() if rng.randrange(2) else _filled(rng, tree, deep)
    if way == 1:
        return json.dumps(rng.choice(ODD_VALUES)).encode()
    for _ in range(rng.choice((1, 1, 2))):
        damage_tree(rng, tree)
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def _filled(rng: Random, tree: Any, deep: str) -> bytes:
    closing = ("]" if deep[0] == "[" else "}") * MOST_DEPTH
    core = "1" if deep[0] == "{" else ""
    damage_tree(rng, tree, lambda: "@deep@")
    return json.dumps(tree).replace('"@deep@"', deep + core + closing).encode()


def damage_tree(rng: Random, tree: Any, odd: Callable[[], Any] | None = None) -> None:
    """Change one node of nested dictionaries and lists in place."""
    nodes = [*_holders(tree)]
    if not nodes:
        return
    holder, key = rng.choice(nodes)
    way = rng.randrange(6)
    if way == 0 and odd is None:
        del holder[key]
    elif way == 1 and odd is None and isinstance(holder, dict):
        holder["odd"] = deepcopy(rng.choice(ODD_VALUES))
    elif way == 2 and odd is None:
        other, place = rng.choice(nodes)
        holder[key] = deepcopy(other[place])
    else:
        holder[key] = deepcopy(rng.choice(ODD_VALUES)) if odd is None else odd()


def _holders(tree: Any) -> Any:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(items):
        yield tree, key
        if isinstance(value, dict | list) and value:
            yield from _holders(value)


def damage_toml(rng: Random, content: bytes) -> bytes:
    """The same in a TOML file; sometimes in its text."""
    import tomli_w

    tree = tomllib.loads(content.decode())
    if rng.randrange(4) == 0:
        text = rng.choice(
            (
                "[" * MOST_DEPTH,
                "a = " + "[" * MOST_DEPTH,
                "a." * MOST_DEPTH + "b = 1",
                "seed = 1e400",
                "seed = " + "9" * 5000,
                "name = [1, 2]",
                'data = "\\u001b[31m"',
                "x = {" * 2000,
                "[[estimator]]\nname = 'prpo'",
            )
        )
        return content + b"\n" + text.encode() if rng.randrange(2) else text.encode()
    for _ in range(rng.choice((1, 1, 2))):
        damage_tree(rng, tree)
    try:
        return tomli_w.dumps(_without_none(tree)).encode()
    except (UnicodeEncodeError, TypeError, ValueError):
        return damage_tokens(rng, content)


def _without_none(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_none(one) for key, one in tree.items() if one is not None}
    if isinstance(tree, list):
        return [_without_none(one) for one in tree if one is not None]
    return tree


def damage_arrays(rng: Random, content: bytes) -> bytes:
    """Another type, shape, name or value in a safetensors file; or a header that lies."""
    import numpy as np
    from safetensors.numpy import load, save

    if rng.randrange(4) == 0:
        size = int.from_bytes(content[:8], "little")
        header = damage_json(rng, content[8 : 8 + size])
        return len(header).to_bytes(8, "little") + header + content[8 + size :]
    arrays = dict(load(content))
    name = rng.choice([*arrays])
    one = arrays[name]
    kinds = ("f2", "f4", "f8", "i8", "i4", "u1", "?")
    ways: tuple[Callable[[], Any], ...] = (
        lambda: one.astype(rng.choice(kinds)),
        lambda: one[None],
        lambda: one.reshape(-1)[: rng.randrange(one.size + 1)],
        lambda: np.concatenate([one.reshape(-1)] * 2),
        lambda: np.full_like(one, rng.choice((0, 1, 255)) if one.dtype.kind in "ui" else np.nan),
        lambda: (one * 1e308).astype(one.dtype) if one.dtype.kind == "f" else one * 0 - 1,
        lambda: np.zeros((0, 3), one.dtype),
        one.T.copy,
    )
    way = rng.randrange(len(ways) + 2)
    with np.errstate(all="ignore"):
        if way < len(ways):
            arrays[name] = np.ascontiguousarray(ways[way]())
        elif way == len(ways):
            arrays[rng.choice(("odd", "scores", "x" * 1000))] = arrays.pop(name)
        else:
            arrays["odd"] = one
    return bytes(save(arrays))


def damage_table(rng: Random, content: bytes) -> bytes:
    """A Parquet file with other types, values or names of columns."""
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(content))
    place = rng.randrange(table.num_columns)
    name, n = table.column_names[place], table.num_rows
    odd: tuple[Callable[[], Any], ...] = (
        lambda: pa.nulls(n),
        lambda: pa.array([rng.choice((None, -1, 0, 1, 2**40)) for _ in range(n)], pa.int64()),
        lambda: pa.array([rng.choice((float("nan"), float("inf"), -1e308)) for _ in range(n)]),
        lambda: pa.array([rng.choice(("", "x", "\x1b[31m", "\x00", "1")) for _ in range(n)]),
        lambda: pa.array([[1, 2]] * n),
        lambda: pa.array([{"a": 1}] * n),
        lambda: pa.array([b"\xff\xfe"] * n),
        lambda: pa.array([True] * n),
        lambda: pa.array([*range(n)], pa.timestamp("us")),
        lambda: pa.array([str(i % 3) for i in range(n)]).dictionary_encode(),
        lambda: pa.array([10**25] * n, pa.decimal128(38, 0)),
    )
    way = rng.randrange(len(odd) + 3)
    if way < len(odd):
        table = table.set_column(place, name, odd[way]())
    elif way == len(odd):
        table = table.remove_column(place)
    elif way == len(odd) + 1:
        table = table.append_column(name, table.column(place))
    else:
        names = [*table.column_names]
        names[place] = rng.choice(("", "x", "rowid", "\x1b[31m", 'a"b', "select"))
        table = table.rename_columns(names)
    stream = io.BytesIO()
    parquet.write_table(table.slice(0, rng.choice((0, 1, n, n))), stream)
    return stream.getvalue()
