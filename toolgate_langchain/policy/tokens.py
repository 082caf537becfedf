"""Single words that have a form of their own: mail addresses, URLs and hosts, account numbers, codes, numbers."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "NEXT_SENTENCE",
    "address",
    "addresses",
    "bare",
    "is_code",
    "number_of",
    "number_text",
    "readings",
    "web_schemes",
]

_AROUND: Final = "\"'\u201c\u201d\u2018\u2019`()[]{}<>,;:!?*#|\u2026"
"""What stands around a word and does not belong to it. A dot only behind it."""

_MAIL: Final = re.compile(r"[^\s@<>()\[\],;:=\"'“”`]{1,64}@[^\s@<>()\[\],;:\"'“”`/?#]{1,253}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://")
_WEB: Final = frozenset({"http://", "https://"})
_WEB_ADDRESS: Final = re.compile(r"https?://[^\s,;|<>\"\u201c\u201d`()\[\]{}]{1,2000}", re.IGNORECASE)
_HOST: Final = re.compile(
    r"(?:[^\W_](?:[\w-]{0,62})\.){1,10}(?:[^\W\d_]{2,24}|xn--[a-z0-9-]{1,59})\.?(?::[0-9]{1,5})?", re.IGNORECASE
)
_NUMERIC_HOST: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5})?")
_HOST_BEHIND_SLASHES: Final = re.compile(r"localhost|(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+)){0,3}")
"""What browsers also take for a host where `//` stands in front of it."""
_FILE_ENDING: Final = re.compile(
    "avi|bmp|cfg|conf|csv|docx?|eml|exe|gif|gz|html?|ics|ini|jar|jpe?g|js|json|log|md|mov|mp[34]|odt|pdf|png|pptx?|py"
    "|rst|rtf|sql|svg|tar|tex|toml|tsv?|txt|wav|webp|xlsx?|xml|ya?ml|zip"
)
"""Endings of file names. Without a scheme or `www.` such a word is taken for a file and not for a host."""

_FEWEST_DIGITS: Final = 8
"""Digits of a number that can be an account or a telephone; shorter ones are amounts and counts (E.164 numbers
have 8 digits and more, IBANs 15 characters and more)."""
_ACCOUNT: Final = re.compile(r"\+?[A-Za-z0-9][A-Za-z0-9.()/-]{6,80}")
_DIGITS: Final = re.compile(r"\+?[0-9]+(?:[.()-]+[0-9]+)*")
_SMALL: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
"""Only letters of ASCII have two sizes here: another mailbox or host may be behind `ß` and `ss`."""
_LONGEST_WORD: Final = 2_000
_LONGEST_NUMBER: Final = 40
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)(?:\.[0-9]+)?")
_TWO_READINGS: Final = re.compile(r"-?[1-9][0-9]{0,2}[.,][0-9]{3}")
"""`1.500` and `1,500` are one and a half to some and fifteen hundred to others."""
_COMMA_PARTS_THOUSANDS: Final = ("$", "£", "¥")
"""Signs of currencies whose countries part thousands by a comma; a dot some of them have for the same (`$1.500`)."""
_WORD: Final = re.compile(r"[^\s,;|<>\"\u201c\u201d`()\[\]{}]+")
_NO_PART: Final = re.compile(r"[^\w./\\?#@%&+~-]+")
"""What no address without a scheme has in it, so that one may begin behind it."""
_COULD_BE: Final = re.compile(r"[./:@]|(?:\d\D{0,2}){7}\d")
"""What every address has: a dot, a slash, a colon or an at sign, or the digits of an account."""
NEXT_SENTENCE: Final = re.compile(r"\.(?=[A-Z])")
"""Where the next sentence was written right behind a word."""


def bare(token: str) -> str:
    """A word without what stands around it."""
    return token.strip(_AROUND).rstrip("." + _AROUND).lstrip(_AROUND)


def number_text(text: str) -> str | None:
    """One text for one number, `10` for `$10.00`; `None` where it is none, as `007` and `1,5`."""
    found = _NUMBER.fullmatch(text.strip().lstrip("$€£¥")) if len(text) <= _LONGEST_NUMBER else None
    return None if found is None else format(Decimal(found.group().replace(",", "")).normalize(), "f")


def readings(text: str) -> frozenset[str]:
    """Every number that people read in a text which is one: two for `1.500` and `1,500`, none where it is none."""
    plain = text.strip().lstrip("$€£¥")
    alike = text.strip().startswith(_COMMA_PARTS_THOUSANDS) and "," in plain
    if alike or not _TWO_READINGS.fullmatch(plain):
        return frozenset(filter(None, (number_text(text),)))
    whole, part = plain.replace(",", "."), plain.replace(",", "").replace(".", "")
    return frozenset(filter(None, (number_text(whole), number_text(part))))


def number_of(value: float) -> str | None:
    """The same for a number, with all of its digits."""
    return number_text(format(Decimal(repr(value)), "f")) if isinstance(value, float) else number_text(str(value))


def is_code(word: str) -> bool:
    """Whether a word is no ordinary one: it has digits, or what file names, hosts and paths have."""
    return any(character.isdigit() or character in "_./\\@" for character in word)


def address(text: str) -> str | None:
    """The normal form of a text that is an address as a whole, else `None`.

    Hosts and mail addresses are compared in small letters, a path letter by letter; `http`, `https` and no
    scheme, `www.` and a last slash tell no two addresses apart.
    """
    word = text.strip().strip("<>")
    if not word or len(word) > _LONGEST_WORD or any(map(str.isspace, word)):
        return None
    if word.casefold().startswith("mailto:"):
        word = word[7:]
        if "?" in word:  # further recipients, or what is to be written to them
            return None
    if _MAIL.fullmatch(word):
        return word.rstrip(".").translate(_SMALL)
    scheme = _SCHEME.match(word)
    rest = word[scheme.end() :] if scheme else word
    cut = next((place for place, character in enumerate(rest) if character in "/?#"), len(rest))
    host, path = rest[:cut].translate(_SMALL), rest[cut:]
    if scheme is None and not _is_host(host, path):
        return _account(word)
    normal = host.removeprefix("www.").rstrip(".") + path.rstrip("/")
    kind = "" if scheme is None else scheme.group().translate(_SMALL)
    return normal if not kind or kind in _WEB else kind + normal


def web_schemes(text: str) -> Iterator[tuple[str, str]]:
    """The web addresses in a text that are written with their scheme: `http` or `https`, and the normal form."""
    for found in _WEB_ADDRESS.finditer(text):
        word = bare(found.group())
        for one in {word, NEXT_SENTENCE.split(word, maxsplit=1)[0]}:
            if (normal := address(one)) is not None:
                yield one.partition(":")[0].translate(_SMALL), normal


def _is_host(host: str, path: str) -> bool:
    if _NUMERIC_HOST.fullmatch(host):
        return True
    if not _HOST.fullmatch(host):
        return False
    ending = host.rstrip(".").rpartition(".")[2].partition(":")[0]
    return host.startswith("www.") or not _FILE_ENDING.fullmatch(ending) or bool(path)


def _account(word: str) -> str | None:
    """An account, a telephone or another long number; of what has nothing but digits, however they are parted."""
    if not _ACCOUNT.fullmatch(word):
        return None
    digits = sum(map(str.isdigit, word))
    if digits < _FEWEST_DIGITS or re.fullmatch(r"\d{4}-\d{2}-\d{2}(?:T.*)?", word):
        return None
    if not _DIGITS.fullmatch(word):  # in a path or a code each sign counts
        return word.translate(_SMALL)
    return None if re.fullmatch(r"[0-9]+\.[0-9]+", word) else re.sub(r"[.()-]", "", word)  # 1234567.89 is an amount


def addresses(text: str) -> Iterator[str]:
    """The addresses in a longer text, in their normal form."""
    for mail in _MAIL.finditer(text):
        yield mail.group().rstrip(".").translate(_SMALL)
    for found in _WORD.finditer(text):
        word = found.group()[:_LONGEST_WORD]
        if not _COULD_BE.search(word):
            continue
        # What stands behind `=` or the like is an address of its own only where it is no part of one.
        whole = address(bare(word)) is not None
        for part in (word,) if whole else (word, *word.split("="), *_behind_signs(word)):
            candidate = bare(part)
            for one in {candidate, NEXT_SENTENCE.split(candidate, maxsplit=1)[0]}:
                if one and (normal := address(one)) is not None:
                    yield normal


def _behind_signs(word: str) -> Iterator[str]:
    """What a reader of web pages or a program can take for an address inside of a word, as `//host` in a link."""
    scheme = _SCHEME.search(word)
    if scheme is not None:
        yield word[scheme.start() :]
    for part in _NO_PART.split(word):
        plain = part.replace("\\", "/")
        inner = plain.lstrip("/")
        host = re.split("[/?#]", inner, maxsplit=1)[0].translate(_SMALL)
        yield f"http://{inner}" if plain.startswith("//") and _HOST_BEHIND_SLASHES.fullmatch(host) else inner
