"""Addresses just on either side of a line: what is no text, no port, no web address, or nearly a letter."""

from __future__ import annotations

from typing import Any

import pytest

from toolgate_langchain import EgressPolicy, Surface, ToolProfile, Verdict
from toolgate_langchain.catalog.egress import EgressScope
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.address import MAX_ADDRESS, read_address
from toolgate_langchain.policy.arguments import ArgumentView

SITE = "https://books.example"
BOTH = EgressPolicy(sites=[SITE], endpoints=[SITE])


def verdict(policy: EgressPolicy, scope: EgressScope | None, *endpoints: str, **arguments: Any) -> Verdict:
    entry = CatalogEntry("fetch", ToolProfile(egress=scope, endpoints=endpoints))
    return policy(ArgumentView("fetch", arguments, entry, Surface("chat"), None, None, None)).verdict


class TestReading:
    @pytest.mark.parametrize("url", ["ftps://books.example/", "ftps://books.example:443/", "file://books.example/x"])
    def test_what_is_no_web_address_is_none(self, url: str) -> None:
        assert read_address(url) is None
        with pytest.raises(ConfigurationError):
            EgressPolicy(endpoints=[url])

    def test_the_last_port_there_is_and_the_one_behind_it(self) -> None:
        assert read_address("https://a.example:65535/") is not None
        assert read_address("https://a.example:65536/") is None

    def test_the_longest_address_and_one_that_is_longer(self) -> None:
        longest = f"{SITE}/".ljust(MAX_ADDRESS, "x")
        assert read_address(longest) is not None
        assert read_address(f"{longest}x") is None

    def test_a_query_without_a_path_is_one_of_the_first_page(self) -> None:
        read = read_address(f"{SITE}?q=1")
        assert read is not None and read[1] == "/?q=1"

    def test_a_letter_whose_small_form_is_an_ordinary_one_makes_another_host(self) -> None:
        """The Kelvin sign becomes a `k`, and whoever looks the host up may read it as one."""
        assert "\u212a".lower() == "k"
        assert read_address("https://boo\u212as.example/") is None
        assert BOTH.resolve("https://boo\u212as.example/") is None

    @pytest.mark.parametrize("host", ["[]", "[x]", "[1.2.3.4]", "[::1", "[fe80::1%eth0]", "[::1::]"])
    def test_brackets_hold_an_ip_address_without_a_zone(self, host: str) -> None:
        assert read_address(f"https://{host}/") is None

    def test_an_ip_address_in_brackets_is_written_in_its_shortest_form(self) -> None:
        read = read_address("https://[2001:0DB8:0:0::1]/")
        assert read is not None and read[0].text == "https://[2001:db8::1]"


class TestScopes:
    @pytest.mark.parametrize("scope", ["own_site", "configured"])
    @pytest.mark.parametrize("given", [None, 5, b"https://books.example/", ["https://books.example/"]], ids=repr)
    def test_what_is_no_text_is_no_address(self, scope: EgressScope, given: Any) -> None:
        assert BOTH.resolve(given, scope) is None

    def test_a_path_is_a_page_of_the_own_site_and_of_nothing_else(self) -> None:
        assert BOTH.resolve("/x", "own_site") == f"{SITE}/x"
        assert BOTH.resolve("/x", "configured") is None

    def test_a_path_is_nothing_where_there_is_no_own_site(self) -> None:
        assert EgressPolicy(endpoints=[SITE]).resolve("/x", "own_site") is None


class TestCalls:
    def test_a_tool_that_declares_nothing_is_not_looked_at(self) -> None:
        assert verdict(BOTH, None, url="https://anywhere.example") is Verdict.ALLOW

    def test_an_address_that_is_no_text_is_denied_in_every_scope(self) -> None:
        for scope in ("none", "own_site", "configured", "open", None):
            assert verdict(BOTH, scope, "url", url=5) is Verdict.DENY
            assert verdict(BOTH, scope, "url", url=[SITE, {"url": SITE}]) is Verdict.DENY

    @pytest.mark.parametrize("declared", [{"sites": SITE}, {"endpoints": SITE}])
    def test_one_text_is_no_list_of_them(self, declared: Any) -> None:
        with pytest.raises(ConfigurationError, match="list of texts"):
            EgressPolicy(**declared)
