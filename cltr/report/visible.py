"""Text from files and paths as it can be shown: characters that steer a terminal become visible."""

import unicodedata

_PICTURES = 0x2400
"""Where Unicode keeps pictures of the control characters."""


def visible(text: str) -> str:
    r"""The text with a picture or a question mark for each character that would not be seen.

    Line breaks and tabs stay. Control characters could move the cursor or change colours, marks of
    direction could change the order of what is read, and halves of characters cannot be printed.

    Example:
        >>> visible("run\x1b[31m"), visible("a\u202eb")
        ('run␛[31m', 'a�b')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in "\n\t" or character.isprintable():
        return character
    code = ord(character)
    if code < 32:
        return chr(_PICTURES + code)
    kind = unicodedata.category(character)
    return "\ufffd" if kind in ("Cc", "Cf", "Cs", "Zl", "Zp") else character
