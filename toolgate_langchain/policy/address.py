"""Reading a web address so that nobody who reads it after us can find another host in it.

Readers of URLs disagree about backslashes, blanks, user info, empty ports, percent signs in hosts and letters
outside of ASCII. None of them is let through, so that there is nothing left to disagree about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import Final
from urllib.parse import quote

from toolgate_langchain.errors import ConfigurationError

__all__ = ["MAX_ADDRESS", "Address", "declared_address", "read_address"]

MAX_ADDRESS: Final = 8_000
"""Characters of an address; RFC 9110, section 4.1, asks everybody to take at least as many octets."""

_PORTS: Final = {"http": 80, "https": 443}

# Each part excludes the character that ends it, so that there is one way to match and no going back.
_ADDRESS: Final = re.compile(r"(?P<scheme>[A-Za-z]{4,5})://(?P<host>\[[^\]/?#]*\]|[^\[\]:/?#]*)(?P<port>:[^/?#]*)?"
                             r"(?P<rest>[/?][^#]*)?(?:#.*)?", re.DOTALL)  # fmt: skip
_HOST: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?")
_PORT: Final = re.compile(r":[1-9][0-9]{0,4}")
_REFUSED: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\"<>^`{|}]")
"""Blanks, control characters, and what RFC 3986 has in no address."""


@dataclass(frozen=True, slots=True)
class Address:
    """Scheme, host and port: what is compared."""

    scheme: str
    host: str
    """In small letters; an IPv6 address in brackets and in its shortest form."""
    port: int

    @property
    def text(self) -> str:
        """The address as it is written, the scheme's own port left out."""
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"


def read_address(url: str) -> tuple[Address, str] | None:
    """The address of a URL, and its path and query; `None` where it is no plain http or https URL.

    Args:
        url: Any text.
    """
    if len(url) > MAX_ADDRESS or _REFUSED.search(url) or not (match := _ADDRESS.fullmatch(url)):
        return None
    scheme, host, port = match["scheme"].lower(), _host(match["host"]), match["port"]
    if scheme not in _PORTS or host is None or (port is not None and not _PORT.fullmatch(port)):
        return None
    number = _PORTS[scheme] if port is None else int(port[1:])
    if number > 65_535:
        return None
    rest = match["rest"] or "/"
    # What is not ASCII is written as browsers send it; a percent sign that is there already stays.
    try:
        rest = quote(rest if rest.startswith("/") else f"/{rest}", safe="/?:@!$&'()*+,;=-._~%[]")
    except UnicodeEncodeError:  # a lone surrogate, which is no character
        return None
    return Address(scheme, host, number), rest


def _host(text: str) -> str | None:
    host = text.lower() if text.isascii() else ""
    if host.startswith("["):
        try:
            # Without a zone: it names a network card of this machine, not another machine.
            return None if "%" in host else f"[{IPv6Address(host[1:-1]).compressed}]"
        except AddressValueError:
            return None
    return host if len(host) <= 254 and _HOST.fullmatch(host) else None


def declared_address(text: str, where: str, *, with_scheme: bool = False) -> tuple[Address, ...]:
    """What an operator declared: a URL without a path, `host:port` or `host`.

    Args:
        text: What was declared.
        where: The name of the list, for the message.
        with_scheme: Whether only a URL will do.

    Returns:
        One address, or on a port that belongs to neither scheme one for each.

    Raises:
        ConfigurationError: If it is none of these.
    """
    schemes: tuple[str, ...] = ("",)
    if isinstance(text, str) and "://" not in text and not with_scheme:
        port = text.rpartition("]")[2].rpartition(":")[2] if ":" in text.rpartition("]")[2] else "443"
        schemes = {"443": ("https://",), "80": ("http://",)}.get(port, ("http://", "https://"))
    read = [read_address(scheme + text) if isinstance(text, str) else None for scheme in schemes]
    found = tuple(one[0] for one in read if one is not None and one[1] == "/")
    if len(found) != len(schemes):
        allowed = "a URL without a path" if with_scheme else "a URL without a path, host:port or host"
        raise ConfigurationError(f"{where} has {text!r}, which is not {allowed}; scheme, host and port are compared")
    return found
