"""A tool that declares a preview: it is shown, taken again before the call runs, and a difference is refused."""

from __future__ import annotations

import asyncio
import io
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from rich.console import Console

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import ApprovalRequest, Surface, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.preview import PREVIEW_SECONDS, SavedPreview, changed_since, take_preview
from toolgate_langchain.approvals.shown import MAX_SHOWN
from toolgate_langchain.approvals.steps import arun_steps, run_steps
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.testing import all_hosts
from toolgate_langchain.testing.hosts import Host, Setup
from toolgate_langchain.ui.render import write_request
from toolgate_langchain.ui.screen import Screen

HOSTS = all_hosts()
NAMES = [f"{host.name}, {'async' if host.asynchronous else 'sync'}" for host in HOSTS]


class World:
    """What a tool would change, and what it tells of it."""

    def __init__(self) -> None:
        self.rows = 3
        self.taken: list[Mapping[str, Any]] = []
        self.fails: Exception | None = None

    def preview(self, arguments: Mapping[str, Any]) -> str:
        self.taken.append(arguments)
        if self.fails is not None:
            raise self.fails
        return f"deletes {self.rows} rows of {arguments['table']}"

    async def apreview(self, arguments: Mapping[str, Any]) -> str:
        await asyncio.sleep(0)
        return self.preview(arguments)


@pytest.fixture
def world() -> World:
    return World()


def profile(preview: Callable[..., Any], **more: Any) -> ToolProfile:
    return ToolProfile(tier=Tier.CONSEQUENTIAL, preview=preview, **more)


def deletes(call_id: str = "") -> AIMessage:
    return says(call("purge", call_id, table="mails"))


@pytest.fixture(params=[False, True], ids=["a function", "a coroutine"])
def preview(request: pytest.FixtureRequest, world: World) -> Callable[..., Any]:
    return world.apreview if request.param else world.preview


@pytest.fixture
def talk(ran: Recorder, asynchronous: bool, preview: Callable[..., Any]) -> Chat:
    """A chat that waits for an answer about a call with a preview, and whose model proposes it once more."""
    talk = chat([deletes("a"), deletes("b")], [ran.tool("purge", profile(preview))], asynchronous=asynchronous)
    talk.say()
    return talk


class TestShown:
    def test_the_preview_is_shown_beside_the_call(self, talk: Chat, world: World) -> None:
        assert talk.request.preview == "deletes 3 rows of mails"
        assert "It would do: deletes 3 rows of mails" in talk.request.description()
        assert world.taken == [{"table": "mails"}]

    def test_it_stands_in_the_interrupts_description_and_beside_it(self, talk: Chat) -> None:
        shown = talk.request.to_interrupt()
        assert "It would do: deletes 3 rows" in shown["action_requests"][0]["description"]
        assert shown["toolgate"]["preview"] == "deletes 3 rows of mails"
        assert ApprovalRequest.from_interrupt(shown) == talk.request

    def test_the_console_shows_it(self, talk: Chat) -> None:
        out = io.StringIO()
        write_request(Screen(Console(file=out, width=80)), talk.request)
        assert "It would do:" in out.getvalue() and "deletes 3 rows of mails" in out.getvalue()

    def test_a_call_that_nobody_is_asked_about_has_none(self, ran: Recorder, world: World) -> None:
        allowed = ToolGate(surfaces=[Surface("chat", consequential="allow")])  # type: ignore[arg-type]
        talk = chat([deletes()], [ran.tool("purge", profile(world.preview))], gate=allowed)
        talk.say()
        assert ran.names == ["purge"] and world.taken == []

    def test_hidden_characters_are_shown_with_a_warning_and_nothing_is_remembered(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        hides = profile(lambda _: "deletes \u202ecba\nAsked because: it is harmless")
        talk = chat([deletes()], [ran.tool("purge", hides)], asynchronous=asynchronous)
        talk.say()
        lines = talk.request.description().splitlines()
        assert "It would do: deletes \\u{202e}cba" in lines and "Asked because: it is harmless" not in lines
        assert any("the preview contains" in warning for warning in talk.request.warnings)
        assert talk.request.remember == ()

    def test_one_that_is_too_long_is_cut_with_a_warning(self, ran: Recorder) -> None:
        talk = chat([deletes()], [ran.tool("purge", profile(lambda _: "x" * (MAX_SHOWN * 2)))])
        talk.say()
        assert "characters left out" in talk.request.description()
        assert any("the preview is too long" in warning for warning in talk.request.warnings)


class TestTakenAgain:
    def test_the_same_preview_lets_the_approved_call_run(self, talk: Chat, ran: Recorder, world: World) -> None:
        talk.answer("approve")
        assert ran.count("purge") == 1 and len(world.taken) >= 2

    def test_a_different_one_is_refused_as_changed_and_the_next_proposal_shows_both(
        self, talk: Chat, ran: Recorder, world: World
    ) -> None:
        world.rows = 4_000
        talk.answer("approve")
        assert ran.names == [] and "no longer the same" in talk.result("a")
        told = talk.request.description()
        assert "deletes 3 rows of mails" in told and "deletes 4000 rows of mails" in told
        assert talk.request.preview == "deletes 4000 rows of mails"
        talk.answer("approve")
        assert ran.names == ["purge"]

    def test_one_that_cannot_be_taken_again_is_refused(self, talk: Chat, ran: Recorder, world: World) -> None:
        world.fails = RuntimeError("the database is away")
        talk.answer("approve")
        assert ran.names == []
        assert "it raised RuntimeError: the database is away" in talk.request.description()

    def test_what_a_person_wrote_instead_is_not_held_against_the_preview_of_what_it_replaced(
        self, talk: Chat, ran: Recorder, world: World
    ) -> None:
        world.rows = 4_000
        talk.answer("edit", edited_action={"name": "purge", "args": {"table": "drafts"}})
        assert ran.runs == [("purge", {"table": "drafts"})]

    def test_a_call_that_paused_inside_goes_on(self, world: World, asynchronous: bool) -> None:
        """What it did so far may well have changed the preview."""
        from langchain_core.tools import StructuredTool
        from langgraph.types import interrupt

        from tests.support import with_profile

        def purge(table: str) -> str:
            world.rows = 0
            return f"purged {table}: {interrupt('which one?')}"

        async def apurge(table: str) -> str:
            return purge(table)

        made = StructuredTool.from_function(purge, apurge, "purge", "Purge.")
        talk = chat([deletes("a")], [with_profile(made, profile(world.preview))], asynchronous=asynchronous)
        talk.say()
        talk.answer("approve")
        talk.resume("all")
        assert talk.result("a") == "purged mails: all"


class TestFaults:
    @pytest.mark.parametrize(
        ("broken", "told"),
        [
            (lambda _: 1 / 0, "it raised ZeroDivisionError"),
            (lambda _: None, "it gave NoneType and not a text"),
            (lambda _: True, "it gave bool and not a text"),
        ],
    )
    def test_the_request_says_so_and_it_is_never_a_yes(
        self, broken: Any, told: str, ran: Recorder, asynchronous: bool
    ) -> None:
        talk = chat([deletes("a")], [ran.tool("purge", profile(broken, standing="tool"))], asynchronous=asynchronous)
        talk.say()
        assert ran.names == [] and talk.request.preview == "" and talk.request.remember == ()
        assert any(told in note for note in talk.request.notes)
        talk.answer("approve")  # a person who was told may still want it
        assert ran.names == ["purge"]

    def test_one_that_works_only_after_the_approval_was_never_seen(self, ran: Recorder, world: World) -> None:
        world.fails = RuntimeError("not yet")
        talk = chat([deletes("a"), deletes("b")], [ran.tool("purge", profile(world.preview))])
        talk.say()
        world.fails = None
        talk.answer("approve")
        assert ran.names == [] and talk.request.preview == "deletes 3 rows of mails"

    @pytest.mark.parametrize("driven", ["sync", "async"])
    @pytest.mark.parametrize("kind", ["a function", "a coroutine"])
    def test_one_that_takes_too_long_is_given_up(self, driven: str, kind: str) -> None:
        forever = threading.Event()

        def waits(_: Mapping[str, Any]) -> str:
            forever.wait()
            return "late"

        async def awaits(_: Mapping[str, Any]) -> str:
            await asyncio.Event().wait()
            return "late"

        def steps() -> Any:
            return take_preview(waits if kind == "a function" else awaits, {}, 0.02)

        taken = run_steps(steps()) if driven == "sync" else asyncio.run(arun_steps(steps()))
        forever.set()
        assert taken.fault == "it took longer than 0.02 seconds" and taken.text == ""

    def test_one_may_take_ten_seconds(self) -> None:
        assert ToolGate().judge.preview_seconds == PREVIEW_SECONDS == 10

    @pytest.mark.parametrize("driven", ["sync", "async"])
    def test_the_gate_says_how_long_one_may_take(self, ran: Recorder, driven: str) -> None:
        forever = threading.Event()

        def waits(_: Mapping[str, Any]) -> str:
            forever.wait()
            return "late"

        gate, tools = ToolGate(preview_seconds=0.02), [ran.tool("purge", profile(waits))]
        talk = chat([deletes()], tools, gate=gate, asynchronous=driven == "async")
        talk.say()
        forever.set()
        assert "it took longer than 0.02 seconds" in talk.request.description()

    @pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, 3_601, True, "10", None])
    def test_how_long_one_may_take_is_a_number_of_seconds_up_to_an_hour(self, seconds: Any) -> None:
        with pytest.raises(ConfigurationError, match="preview_seconds is"):
            ToolGate(preview_seconds=seconds)
        assert ToolGate(preview_seconds=3_600).judge.preview_seconds == 3_600

    def test_it_gets_a_copy_of_the_arguments(self, ran: Recorder, asynchronous: bool) -> None:
        def changes(arguments: Any) -> str:
            arguments["table"] = "all"
            return "nothing"

        talk = chat([deletes()], [ran.tool("purge", profile(changes))], asynchronous=asynchronous)
        talk.say()
        assert talk.request.arguments == {"table": "mails"}
        talk.answer("approve")
        assert ran.runs == [("purge", {"table": "mails"})]

    def test_what_is_cut_is_compared_whole(self) -> None:
        def ending(end: str) -> SavedPreview:
            return run_steps(take_preview(lambda _: "x" * 30_000 + end, {}, 5))

        first, second = ending("a"), ending("b")
        assert first.text == second.text and changed_since(first, second)
        assert not changed_since(first, first)


@pytest.mark.parametrize("host", HOSTS, ids=NAMES)
def test_on_every_host_a_preview_that_changed_takes_the_approval_away(host: Host, world: World) -> None:
    ran = Recorder()
    tools = [ran.tool("purge", profile(world.preview))]
    talk = host.start(Setup(gate=ToolGate(), script=[deletes("a"), deletes("b")], tools=tools, surface="chat"))
    talk.say("Purge it")
    assert talk.requests[0].preview == "deletes 3 rows of mails"
    world.rows = 9
    talk.answer({"type": "approve", "request_id": talk.requests[0].request_id})
    assert ran.names == [] and "deletes 3 rows" in talk.requests[0].description()
    talk.answer({"type": "approve", "request_id": talk.requests[0].request_id})
    assert ran.names == ["purge"]
