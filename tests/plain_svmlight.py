"""An SVMlight reader as slow and as plain as possible, for the fast one to agree with."""

import re
from decimal import Decimal

import numpy as np

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Refused(Exception):
    """The plain reader gives up at a line (None: the file as a whole is at fault)."""


def plain_reader(data, *, most_features):
    """What a file holds, as slowly and as plainly as possible."""
    documents = []
    if data.startswith(b"\x1f\x8b"):
        raise Refused(None)  # gzip, but not a whole one
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        text, _, comment = line.partition(b"#")
        words = [word for word in re.split(rb"[ \t\r]", text) if word]
        if not words:
            continue
        label = plain_number(words[0], number)
        if Decimal(words.pop(0).decode()) < 0:
            raise Refused(number)
        query = words.pop(0)[4:] if words and words[0].startswith(b"qid:") else None
        if query is None and not documents:
            raise Refused(None)  # there is no sidecar
        if query is None or not printable(query) or np.isinf(label):
            raise Refused(number)
        features, last = {}, 0
        for word in words:
            column, colon, value = word.partition(b":")
            if not colon or not re.fullmatch(rb"[0-9]+", column) or int(column) <= last:
                raise Refused(number)
            last = int(column)
            if last > most_features:
                raise Refused(number)
            with np.errstate(over="ignore"):
                features[last] = np.float32(plain_number(value, number))
            if np.isinf(features[last]):
                raise Refused(number)
        documents.append((number, label, query, features, plain_id(comment)))
    if not documents:
        raise Refused(None)
    return documents


def plain_number(word, line):
    if not NUMBER.fullmatch(word):
        raise Refused(line)
    return float(word)


def printable(word):
    return word != b"" and min(word) >= 32


def plain_id(comment):
    comment = comment.lstrip(b" \t\r#")
    named = re.match(rb"docid[ \t\r]*[=:][ \t\r]*([^\x00-\x20]*)", comment)
    return named[1] if named else re.match(rb"[^\x00-\x20]*", comment)[0]
