"""Whoever reads a checked address finds the declared host and port in it: no reader can be led elsewhere."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import HttpUrl, TypeAdapter, ValidationError
from urllib3.util import parse_url

from toolgate_langchain import EgressPolicy

DECLARED = {("http", "solr.internal", 8983), ("https", "search.example.com", 443), ("https", "::1", 8443)}
EGRESS = EgressPolicy(endpoints=["http://solr.internal:8983", "search.example.com", "https://[::1]:8443"])
DEFAULT = {"http": 80, "https": 443}

PARTS = st.sampled_from(
    [
        *("http://", "https://", "HTTP://", "file://", "//", "/", ":", "@", "\\", "?", "#", "%", "%00", "%2f", "."),
        *("solr.internal", "SOLR.internal", "search.example.com", "evil.example", "[::1]", "[0:0::1]", "127.1"),
        *(":8983", ":443", ":80", ":8443", "\t", "\n", "\0", " ", "\u3002", "\u0430", "\u017f", "[", "]", "x", "q=1"),
    ]
)
URLS = st.one_of(
    st.lists(PARTS, max_size=8).map("".join),
    st.tuples(st.sampled_from(["http://solr.internal:8983", "https://search.example.com", "https://[::1]:8443"]),
              st.lists(PARTS, max_size=5).map("".join)).map("".join),
    st.text(max_size=30),
)  # fmt: skip
HTTP_URL = TypeAdapter(HttpUrl)


def place(scheme: str, host: str | None, port: int | None) -> tuple[str, str, int]:
    """Scheme, host and port as one reader finds them."""
    return scheme, (host or "").strip("[]"), DEFAULT[scheme] if port is None else port


@settings(max_examples=300, deadline=None)
@given(URLS)
@example("http://solr.internal:8983\\@evil.example/")
@example("https://search.example.com/[x]?'")
def test_every_reader_finds_a_declared_place_in_what_was_checked(url: str) -> None:
    checked = EGRESS.resolve(url)
    if checked is None:
        return
    assert EGRESS.resolve(checked) == checked
    python, requests, client = urlsplit(checked), parse_url(checked), httpx.URL(checked)
    found = {
        place(python.scheme, python.hostname, python.port),
        place(str(requests.scheme), requests.host, requests.port),
        place(client.scheme, client.host, client.port),
    }
    try:
        model = HTTP_URL.validate_python(checked)
    except ValidationError:
        pass
    else:
        found.add(place(model.scheme, model.host, model.port))
    assert len(found) == 1 and found <= DECLARED


@settings(max_examples=300, deadline=None)
@given(URLS)
def test_a_naive_reading_that_finds_a_plain_declared_address_agrees(url: str) -> None:
    """The reference reads only what is plain: letters, digits, dots, one colon and a path of letters."""
    head, slashes, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    host, colon, port = authority.partition(":")
    plain = (
        slashes and set(host) <= set("abcdefghijklmnopqrstuvwxyz.") and port.isascii()
        and (port.isdigit() or not colon) and set(path) <= set("abcdefghijklmnopqrstuvwxyz=1")
    )  # fmt: skip
    if not plain:
        return
    number = int(port) if colon else DEFAULT.get(head, 0)
    allowed = (head, host, number) in DECLARED
    assert (EGRESS.resolve(url) is not None) == allowed
