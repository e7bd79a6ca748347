"""Guards text from elsewhere: whatever is wrong with JSON or TOML is one line."""

import os

import pytest

from cltr.errors import CltrError, DataError
from cltr.files.json_files import Schema, parse_json, read_json, read_toml

BAD_JSON = {
    "not JSON": b"{",
    "not UTF-8": b'{"a": "\xff"}',
    "too deep": b"[" * 100_000,
    "a huge number": b"9" * 5000,
    "too large a number": b"1e400",
    "NaN": b"NaN",
    "infinite": b"-Infinity",
    "nothing": b"",
}
BAD_TOML = {
    "not TOML": b"a = {",
    "not UTF-8": b'a = "\xff"',
    "too deep": b"a = " + b"[" * 100_000,
    "a huge number": b"a = " + b"9" * 5000,
}


class Counts(Schema):
    """For these tests."""

    queries: int
    share: float = 0.5


@pytest.mark.parametrize("case", BAD_JSON)
def test_bad_json_is_one_line(tmp_path, case):
    path = tmp_path / "a.json"
    path.write_bytes(BAD_JSON[case])
    with pytest.raises(DataError, match=r"a\.json: ") as caught:
        read_json(path)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("case", BAD_TOML)
def test_bad_toml_is_one_line(tmp_path, case):
    path = tmp_path / "a.toml"
    path.write_bytes(BAD_TOML[case])
    with pytest.raises(CltrError, match=r"a\.toml: ") as caught:
        read_toml(path, "run file")
    assert "\n" not in str(caught.value)


def test_a_pipe_and_a_folder_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(DataError, match="expected a file"):
            read_json(tmp_path / name)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected a JSON object"),
        ({}, "'queries' is missing"),
        ({"queries": "3"}, "'queries' is '3': input should be a valid integer"),
        ({"queries": 3.0}, "valid integer"),
        ({"queries": True}, "valid integer"),
        ({"queries": 10**5000}, None),
        ({"queries": 3, "share": float("nan")}, "'share' is nan: input should be a finite number"),
        ({"queries": 3, "share": "x" * 1000}, "'share' is 'xxx"),
    ],
)
def test_what_a_schema_refuses(value, message):
    if message is None:
        Counts.check(value, where="a")
        return
    with pytest.raises(DataError, match=r"^a: ") as caught:
        Counts.check(value, where="a")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 200


def test_what_a_schema_does_not_name_is_let_through():
    assert Counts.check({"queries": 3, "later": [1]}, where="a") == {"queries": 3, "later": [1]}


def test_numbers_stay_what_they_are():
    assert parse_json('[1, 0.1, 1e308, "\\u00e9"]', where="") == [1, 0.1, 1e308, "\u00e9"]
