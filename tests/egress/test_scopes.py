"""Egress, the table's lines: which addresses a tool of each scope may reach."""

from __future__ import annotations

import pytest

from toolgate_langchain import EgressPolicy
from toolgate_langchain.errors import ConfigurationError

EGRESS = EgressPolicy(
    sites=["https://www.example.com", "http://intra.example.com:8080"],
    endpoints=["solr.internal:8983", "search.example.com", "https://api.example.com:443", "http://[2001:db8::1]:9000"],
)

SOLR = "http://solr.internal:8983/solr/select?q=*"


@pytest.mark.parametrize("url", ["https://www.example.com/", "/x", SOLR, "https://search.example.com/", "", "x"])
@pytest.mark.parametrize("scope", ["none", None, "own site", "OPEN", 1, True])
def test_none_denies_any_url_even_a_valid_own_site_one_and_so_does_what_is_no_scope(url: str, scope: object) -> None:
    assert EGRESS.resolve(url, scope) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "checked"),
    [
        (SOLR, SOLR),
        ("HTTP://SOLR.Internal:8983", "http://solr.internal:8983/"),
        ("https://solr.internal:8983/", "https://solr.internal:8983/"),
        ("https://search.example.com", "https://search.example.com/"),
        ("https://search.example.com:443/a?b=c#d", "https://search.example.com/a?b=c"),
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        ("http://[2001:DB8:0::1]:9000/x", "http://[2001:db8::1]:9000/x"),
        ("https://api.example.com/stra\u00dfe", "https://api.example.com/stra%C3%9Fe"),
    ],
)
def test_a_declared_endpoint_is_reached_in_its_normal_form(url: str, checked: str) -> None:
    assert EGRESS.resolve(url) == checked
    assert EGRESS.resolve(checked) == checked


@pytest.mark.parametrize(
    "url",
    [
        "http://solr.internal:6379/",
        "http://solr.internal/",
        "http://other.internal:8983/",
        "file:///etc/passwd",
        "file://solr.internal:8983/x",
        "http://:8983/",
        "http:///solr",
        "http://user:pw@solr.internal:8983/",
        "http://user@solr.internal:8983/",
        "http://solr.internal:8983@evil.example/",
        "http://evil.example\\@solr.internal:8983/",
        "http://solr.internal.:8983/",
        "http://solr.internal\0.x:8983/",
        "http://solr.internal%00:8983/",
        "http://s\u043elr.internal:8983/",
        "http://solr\u3002internal:8983/",
        "http://\u017folr.internal:8983/",
        "http://solr.internal:8983.evil.example/",
        "http://solr.internal:8983\n/",
        " http://solr.internal:8983/",
        "http://solr.internal:/",
        "http://solr.internal:08983/",
        "http://solr.internal:\u0668\u0669\u0668\u0663/",
        "http://solr.internal:89830/",
        "//solr.internal:8983/",
        "solr.internal:8983",
        "http://[2001:db8::1%25eth0]:9000/",
        "http://[2001:db8::2]:9000/",
        "http://2001:db8::1:9000/",
        "ftp://solr.internal:8983/",
        "",
        "http://solr.internal:8983/\ud800",
        "http://solr.internal:8983/" + "a" * 8_000,
    ],
)
def test_anything_but_the_declared_host_and_port_is_denied(url: str) -> None:
    assert EGRESS.resolve(url) is None
    assert EGRESS.resolve(SOLR) == SOLR


def test_https_to_a_declared_name_is_port_443_and_http_to_it_is_another_port() -> None:
    assert EGRESS.resolve("https://search.example.com/") is not None
    assert EGRESS.resolve("http://search.example.com/") is None
    for url in ("http://api.example.com/", "http://api.example.com:443/", "https://api.example.com:80/"):
        assert EGRESS.resolve(url) is None


def test_a_port_that_belongs_to_a_scheme_is_not_spoken_to_with_the_other() -> None:
    declared = EgressPolicy(endpoints=["a.example:443", "b.example:80", "[::1]:80"])
    assert declared.resolve("https://a.example/") == "https://a.example/"
    assert declared.resolve("http://b.example/") == "http://b.example/"
    assert declared.resolve("http://[::1]/") == "http://[::1]/"
    for url in ("http://a.example:443/", "https://b.example:80/", "https://b.example/"):
        assert declared.resolve(url) is None


@pytest.mark.parametrize(
    ("url", "checked"),
    [
        ("/x", "https://www.example.com/x"),
        ("/", "https://www.example.com/"),
        ("/x//y?z", "https://www.example.com/x//y?z"),
        ("https://www.example.com", "https://www.example.com/"),
        ("http://intra.example.com:8080/a", "http://intra.example.com:8080/a"),
    ],
)
def test_a_path_joins_the_first_site_base_and_every_site_is_own(url: str, checked: str) -> None:
    assert EGRESS.resolve(url, "own_site") == checked


@pytest.mark.parametrize(
    "url",
    ["//x", "//www.example.com/", "/\\evil.example", "x", "", "https://www.example.com:8443/", "http://www.example.com/",
     "https://example.com/", SOLR],
)  # fmt: skip
def test_two_slashes_join_nothing_and_another_port_is_another_site(url: str) -> None:
    assert EGRESS.resolve(url, "own_site") is None


def test_a_path_joins_nothing_where_no_site_is_declared() -> None:
    assert EgressPolicy(endpoints=["a.example"]).resolve("/x", "own_site") is None


def test_an_own_site_is_not_a_configured_endpoint_nor_the_other_way_round() -> None:
    assert EGRESS.resolve("https://www.example.com/") is None
    assert EGRESS.resolve(SOLR, "own_site") is None


def test_open_is_not_looked_at_unless_the_policy_holds_every_tool_to_less() -> None:
    anywhere = "https://anywhere.example/?q=1"
    assert EGRESS.resolve(anywhere, "open") == anywhere
    held = EgressPolicy(endpoints=["solr.internal:8983"], widest="configured")
    assert held.resolve(anywhere, "open") is None
    assert held.resolve(SOLR, "open") == SOLR
    assert held.resolve(SOLR, "none") is None


@pytest.mark.parametrize(
    "declared",
    [
        "https://a.example/path",
        "a.example/path",
        "user@a.example",
        "ftp://a.example",
        "",
        "a b",
        "\u0430.example",
        "a.example:99999",
        "a.example:",
        "https://",
        5,
        None,
    ],
)
def test_what_cannot_be_compared_by_host_and_port_is_not_taken_for_a_declaration(declared: object) -> None:
    with pytest.raises(ConfigurationError, match="endpoints has"):
        EgressPolicy(endpoints=[declared])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match="sites has"):
        EgressPolicy(sites=[declared])  # type: ignore[list-item]


def test_a_site_needs_its_scheme_and_lists_are_lists() -> None:
    with pytest.raises(ConfigurationError, match=r"sites has 'www\.example\.com'"):
        EgressPolicy(sites=["www.example.com"])
    with pytest.raises(ConfigurationError, match="not one text"):
        EgressPolicy(endpoints="a.example")
    with pytest.raises(ConfigurationError, match="widest is 'everything'"):
        EgressPolicy(widest="everything")  # type: ignore[arg-type]
