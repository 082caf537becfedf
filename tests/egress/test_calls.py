"""Egress in the agent: declared addresses are checked before anybody is asked, and the tool gets what was checked."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool
from pydantic import HttpUrl, ValidationError

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import EgressPolicy, Tier, ToolGate, ToolProfile, tool_profile
from toolgate_langchain.catalog.egress import EgressScope

SITE = "https://www.example.com"
EGRESS = EgressPolicy(sites=[SITE], endpoints=["solr.internal:8983"])
HELD = EgressPolicy(sites=[SITE], endpoints=["solr.internal:8983"], widest="configured")
FETCH = {"type": "object", "properties": {"url": {}, "urls": {}, "note": {}}}


def fetching(recorder: Recorder, scope: EgressScope | None, tier: Tier = Tier.READ_ONLY) -> BaseTool:
    profile = ToolProfile(tier=tier, egress=scope, endpoints=("url", "urls"))
    return recorder.tool("fetch", profile, schema=FETCH)


def fetch(
    scope: EgressScope | None, *, tier: Tier = Tier.READ_ONLY, asynchronous: bool = False, **args: Any
) -> tuple[Chat, Recorder]:
    recorder = Recorder()
    talk = chat([says(call("fetch", "c", **args)), says(text="done")], [fetching(recorder, scope, tier)],
                gate=ToolGate(argument_policies=[EGRESS]), surface="chat", asynchronous=asynchronous)  # fmt: skip
    talk.say()
    return talk, recorder


IN_BOTH_WORLDS = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


@IN_BOTH_WORLDS
@pytest.mark.parametrize(
    ("scope", "given", "got"),
    [
        ("configured", {"url": "HTTP://Solr.internal:8983/a#b"}, {"url": "http://solr.internal:8983/a"}),
        ("own_site", {"url": "/x"}, {"url": f"{SITE}/x"}),
        ("own_site", {"urls": ["/x", f"{SITE}:443"]}, {"urls": [f"{SITE}/x", f"{SITE}/"]}),
        ("own_site", {"url": None, "note": "//x"}, {"url": None, "note": "//x"}),
        ("open", {"url": "HTTP://Anywhere.example"}, {"url": "HTTP://Anywhere.example"}),
        ("none", {"note": "no address at all"}, {"note": "no address at all"}),
    ],
)
def test_a_checked_endpoint_is_what_the_tool_gets(
    scope: EgressScope, given: dict[str, Any], got: dict[str, Any], asynchronous: bool
) -> None:
    _, recorder = fetch(scope, asynchronous=asynchronous, **given)
    assert recorder.runs == [("fetch", got)]


@IN_BOTH_WORLDS
@pytest.mark.parametrize(
    ("scope", "given"),
    [
        (None, {"url": SITE}),
        ("none", {"url": SITE}),
        ("own_site", {"url": "//x"}),
        ("own_site", {"url": "/x", "urls": ["/x", "https://evil.example"]}),
        ("own_site", {"url": 5}),
        ("own_site", {"url": {"href": "/x"}}),
        ("own_site", {"urls": [["/x"]]}),
        ("own_site", {"urls": [None]}),
        ("configured", {"url": "http://solr.internal:6379"}),
    ],
)
@pytest.mark.parametrize("tier", [Tier.READ_ONLY, Tier.CONSEQUENTIAL])
def test_what_may_not_be_reached_is_denied_and_nobody_is_asked(
    scope: EgressScope | None, given: dict[str, Any], tier: Tier, asynchronous: bool
) -> None:
    talk, recorder = fetch(scope, tier=tier, asynchronous=asynchronous, **given)
    assert talk.requests == [] and recorder.runs == []
    assert talk.result("c") == "The call of 'fetch' was not executed. It is not permitted here."


@IN_BOTH_WORLDS
def test_a_person_is_shown_the_address_that_was_checked_and_it_is_what_is_remembered(asynchronous: bool) -> None:
    recorder = Recorder()
    script = [says(call("fetch", "c1", url="/x#1")), says(call("fetch", "c2", url=f"{SITE}:443/x")), says(text="done")]
    talk = chat(script, [fetching(recorder, "own_site", Tier.CONSEQUENTIAL)],
                gate=ToolGate(argument_policies=[EGRESS]), surface="chat", asynchronous=asynchronous)  # fmt: skip
    talk.say()
    assert talk.request.arguments == {"url": f"{SITE}/x"}
    talk.answer(remember="arguments")
    assert talk.requests == []
    assert recorder.runs == [("fetch", {"url": f"{SITE}/x"})] * 2


@IN_BOTH_WORLDS
@pytest.mark.parametrize(("edited", "runs"), [("/y#1", [f"{SITE}/y"]), ("https://evil.example", [])])
def test_an_address_that_a_person_writes_is_checked_like_any_other(
    edited: str, runs: list[str], asynchronous: bool
) -> None:
    talk, recorder = fetch("own_site", tier=Tier.CONSEQUENTIAL, asynchronous=asynchronous, url="/x")
    talk.answer("edit", edited_action={"name": "fetch", "args": {"url": edited}})
    assert talk.requests == []
    assert [args["url"] for _, args in recorder.runs] == runs


def test_a_tool_that_types_its_address_gets_the_same_text() -> None:
    got = []

    @tool_profile(tier=Tier.READ_ONLY, egress="own_site", endpoints=["url"])
    @tool
    def fetch(url: HttpUrl) -> str:
        """Fetch."""
        got.append(str(url))
        return "fetched"

    gate = ToolGate(argument_policies=[EGRESS])
    talk = chat([says(call("fetch", "c", url="https://WWW.example.com:443")), says(text="done")], [fetch], gate=gate,
                surface="chat")  # fmt: skip
    talk.say()
    assert talk.result("c") == "fetched"
    assert got == [f"{SITE}/"]


@pytest.mark.parametrize(("policy", "ran"), [(EGRESS, ["post", "inside"]), (HELD, ["inside"])])
def test_a_tool_that_is_held_to_less_than_it_declares_must_say_which_arguments_are_addresses(
    policy: EgressPolicy, ran: list[str]
) -> None:
    recorder = Recorder()
    post = recorder.tool("post", ToolProfile(tier=Tier.READ_ONLY, egress="open"))
    inside = recorder.tool("inside", ToolProfile(tier=Tier.READ_ONLY, egress="configured"))
    script = [says(call("post", text="{}")), says(call("inside")), says(text="done")]
    talk = chat(script, [post, inside], gate=ToolGate(argument_policies=[policy]), surface="chat")
    talk.say()
    assert recorder.names == ran


def test_a_tool_whose_definition_changed_keeps_its_addresses_and_loses_its_scope() -> None:
    changed = ToolProfile(tier=Tier.READ_ONLY, egress="open", endpoints=("url",)).without_tier()
    assert (changed.egress, changed.endpoints) == (None, ("url",))


@pytest.mark.parametrize("wrong", [{"egress": "any"}, {"egress": True}, {"endpoints": "url"}, {"endpoints": [""]}])
def test_a_scope_and_address_arguments_are_checked_when_a_profile_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ToolProfile(**wrong)
    with pytest.raises(ValidationError):
        tool_profile(**wrong)


def test_a_tool_that_builds_its_address_inside_asks_the_same_policy() -> None:
    asked = []

    @tool_profile(tier=Tier.READ_ONLY, egress="configured")
    @tool
    def search(core: str) -> str:
        """Search."""
        url = EGRESS.resolve(f"http://solr.internal:8983/{core}/select")
        asked.append(url)
        return "not configured" if url is None else "found"

    script = [says(call("search", "c1", core="docs")), says(call("search", "c2", core="\n")), says(text="done")]
    talk = chat(script, [search], gate=ToolGate(argument_policies=[EGRESS]), surface="chat")
    talk.say()
    assert talk.result("c1") == "found" and talk.result("c2") == "not configured"
    assert asked == ["http://solr.internal:8983/docs/select", None]
