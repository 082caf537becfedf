"""Which fields are sensitive by their name, and what stands in their place in a record.

Nobody who writes a tool declares that its `clientSecret` is one. The name says it, read word by word, so that
`author`, `keywords` and `monkey` are no secrets because `auth` and `key` are.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["MASK", "holds_sensitive", "is_sensitive", "masked", "masked_text"]

MASK: Final = "(masked)"
"""What stands in the place of a sensitive value. Nothing of it is left: from a digest, a short one can be guessed."""

# One word, or its plural, that makes a name sensitive wherever it stands in it.
_WORDS: Final = frozenset(
    {
        *("auth", "authorization", "bearer", "jwt", "cookie", "token"),
        *("password", "passwd", "passphrase", "passcode", "pass", "pwd", "pin", "otp", "totp", "cvv", "cvc"),
        *("secret", "credential", "cred", "key", "hash", "dsn"),
    }
)
# Run together in small letters, as in `dbpassword`; no other English word ends in these.
_ENDINGS: Final = ("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey")
# Two words that mean what `dsn` means.
_PAIRS: Final = frozenset({("connection", "string"), ("conn", "str"), ("conn", "string")})
# A name that ends so says where a secret lies or what fetches it: a path, a host or a command, which whoever reads a
# record must see.
_PLACES: Final = frozenset(
    {
        *("file", "filename", "path", "dir", "directory", "folder"),
        *("url", "uri", "host", "hostname", "endpoint", "server", "command", "cmd"),
    }
)
# Keys that open nothing: where something stands in a registry or a table.
_OF_KEYS: Final = frozenset({"registry", "primary", "foreign", "partition", "sort"})
# `max_tokens` counts; it holds none.
_COUNTS: Final = frozenset({"max", "min", "num", "count", "total", "limit", "budget", "used", "per"})

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


@lru_cache(maxsize=1024)
def is_sensitive(name: str) -> bool:
    """Whether a field's name says that its value is a secret.

    The name is read as words, which case, digits and anything that is no letter part: `accessKey`, `token2`
    and `X-Api-Key` are sensitive, `tokenizer` and `secretary` are not. `token_file` and `registry_key` are not either:
    they hold a path, and what is masked is never a path, a host or a command. Otherwise, where it is in doubt, it is:
    a name that merely sounds like a secret is masked in a record, and costs nobody more than that.

    Args:
        name: The name of an argument, or of a field at any depth of one.
    """
    words = [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFKC", name))]
    # An address that a `dsn` is has its password in it.
    if words and words[-1].removesuffix("s") in _PLACES and "dsn" not in words:
        return False
    counted = not _COUNTS.isdisjoint(words)
    for before, word in pairwise(["", *words]):
        singular = word[:-1] if word.endswith("s") else word
        if (word == "tokens" and counted) or (singular == "key" and before in _OF_KEYS):
            continue
        if word in _WORDS or singular in _WORDS or singular.endswith(_ENDINGS):
            return True
    return any(pair in _PAIRS for pair in pairwise(words))


def holds_sensitive(value: Any, declared: Collection[str] = ()) -> bool:
    """Whether something stands under a sensitive name, at any depth, also in JSON that stands in a text.

    Args:
        value: Plain JSON: the arguments of a call, or a part of them.
        declared: Names that are sensitive whatever they sound like.
    """
    if isinstance(value, Mapping):
        return any(
            (inner is not None and (name in declared or is_sensitive(name))) or holds_sensitive(inner, declared)
            for name, inner in value.items()
        )
    if isinstance(value, str):
        read = _read(value)
        return read is not None and holds_sensitive(read, declared)
    return isinstance(value, list | tuple) and any(holds_sensitive(inner, declared) for inner in value)


def masked(value: Any, declared: Collection[str] = ()) -> Any:
    """A copy in which `MASK` stands for every value under a sensitive name, whatever its type; `None` stays.

    JSON that stands in a text is looked into.

    Args:
        value: Plain JSON: the arguments of a call, or a part of them.
        declared: Names that are sensitive whatever they sound like.
    """
    if isinstance(value, Mapping):
        return {
            name: MASK if inner is not None and (name in declared or is_sensitive(name)) else masked(inner, declared)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(inner, declared) for inner in value]
    return masked_text(value, declared) if isinstance(value, str) else value


def masked_text(text: str, declared: Collection[str] = ()) -> str:
    """A text as it is or, where it is JSON, with what is sensitive in it masked.

    Args:
        text: The text. In any other one nobody can tell a secret.
        declared: Names that are sensitive whatever they sound like.
    """
    read = _read(text)
    return text if read is None or not holds_sensitive(read, declared) else json.dumps(masked(read, declared))


def _read(text: str) -> Any:
    """What a text says in JSON; `None` for any other, and for what is no object and no list."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
