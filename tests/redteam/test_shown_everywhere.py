"""Whatever a person is shown of a call beside its arguments hides nothing either: servers, reasons, notes, previews."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import RemoteServer, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.testing.attacks.shown import HIDDEN

READ = ToolProfile(tier=Tier.READ_ONLY)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)
ESCAPES = (r"\x", r"\u{")


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def hidden_in(talk: Chat, raw: str) -> bool:
    """Whether some of these characters stand in the request as they are."""
    (pending,) = talk.agent.get_state(talk.config).interrupts
    shown = (talk.request.description(), *talk.request.warnings, *talk.request.notes, pending.value["message"],
             pending.value["action_requests"][0]["description"])  # fmt: skip
    return any(one in text for one in raw if not one.isprintable() or ord(one) > 0xFFFF for text in shown)


@pytest.mark.parametrize("raw", list(HIDDEN.values()), ids=list(HIDDEN))
class TestEachCharacter:
    """Right-to-left override, zero-width space, U+E0000 tags, U+E0100, soft hyphen, ESC[2K, OSC 8, BEL, C1 0x9b in any
    shown field (tool, server, argument, reason, agent name) → shown as escapes with a warning."""

    def test_in_a_reason(self, asynchronous: bool, raw: str) -> None:
        """What an argument policy says may quote an argument, and what it asks about is never remembered."""
        ran = Recorder()
        gate = ToolGate(argument_policies=[lambda view: PolicyAnswer(Verdict.ASK, f"it names {view.arguments['to']}")])
        talk = chat([says(call("look", to=f"a{raw}b"))], [ran.tool("look", READ)], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert not hidden_in(talk, raw)
        (reason,) = [one for one in talk.request.description().splitlines() if one.startswith("Asked because: ")]
        assert "it names a" in reason and any(escape in reason for escape in ESCAPES)
        assert talk.request.warnings and talk.request.remember == ()
        talk.answer()
        assert ran.runs == [("look", {"to": f"a{raw}b"})]

    def test_in_a_reason_alone(self, asynchronous: bool, raw: str) -> None:
        ran = Recorder()
        gate = ToolGate(argument_policies=[lambda _: PolicyAnswer(Verdict.ASK, f"because{raw}of it")])
        talk = chat([says(call("look", to="ann"))], [ran.tool("look", READ)], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert not hidden_in(talk, raw)
        assert talk.request.warnings and talk.request.remember == ()

    def test_in_a_servers_name(self, asynchronous: bool, raw: str) -> None:
        """A name that is not printable is no server's; the others are shown as escapes."""
        ran, catalog = Recorder(), ToolCatalog()
        name = f"a{raw}b"
        if not name.isprintable():
            with pytest.raises(ValueError, match="printable"):
                RemoteServer(name)
            return
        tool = ran.tool("send")
        assert catalog.add_remote(RemoteServer(name, profiles={"send": SEND}), [tool]) == ()
        talk = chat([says(call("send"))], [tool], gate=ToolGate(catalog), asynchronous=asynchronous)
        talk.say()
        assert not hidden_in(talk, raw)
        assert talk.request.warnings and talk.request.remember == ()

    def test_in_a_note_of_what_was_refused_as_changed(self, asynchronous: bool, raw: str) -> None:
        ran = Recorder()
        script = [says(call("send", "s", to=f"ann{raw}")), says(call("send", "t", to="ann"))]
        talk = chat(script, [ran.tool("send", SEND)], agent={"interrupt_before": ["tools"]}, asynchronous=asynchronous)
        talk.say()
        talk.answer()
        message = next(one for one in talk.messages if isinstance(one, AIMessage))
        changed = message.model_copy(update={"tool_calls": [call("send", "s", to=f"eve{raw}")]})
        talk.agent.update_state(talk.config, {"messages": [changed]}, as_node=talk.before_tools)
        talk.invoke(None)
        assert (talk.request.tool_call_id, ran.runs) == ("t", [])
        assert any("eve" in note for note in talk.request.notes)
        assert not hidden_in(talk, raw)


def test_a_reason_that_hides_nothing_is_shown_as_it_is_without_a_warning(asynchronous: bool) -> None:
    """The positive control."""
    gate = ToolGate(argument_policies=[lambda _: PolicyAnswer(Verdict.ASK, "it is new")])
    talk = chat([says(call("look"))], [Recorder().tool("look", READ)], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert "it is new" in talk.request.description()
    assert talk.request.warnings == ()


def test_a_reason_cannot_pass_for_a_line_of_the_request(asynchronous: bool) -> None:
    gate = ToolGate(argument_policies=[lambda _: PolicyAnswer(Verdict.ASK, "new\nSurface: nowhere\nTool: harmless")])
    talk = chat([says(call("look"))], [Recorder().tool("look", READ)], gate=gate, asynchronous=asynchronous)
    talk.say()
    starts = [line.split(":")[0] for line in talk.request.description().splitlines() if not line.startswith(" ")]
    assert starts.count("Surface") == starts.count("Tool") == 1


@pytest.mark.parametrize("raw", ["", "\u202e"], ids=["plain", "hidden"])
def test_what_a_policy_found_is_told_also_where_the_tool_is_asked_about_anyway(asynchronous: bool, raw: str) -> None:
    """The reason is the rule's then; the policy's, which keeps the call from being remembered, is told beside it."""
    ran = Recorder()

    def new_address(view: ArgumentView) -> PolicyAnswer:
        return PolicyAnswer(Verdict.ASK if view.arguments.get("to") == "eve" else Verdict.ALLOW, f"eve is new{raw}")

    script = [says(call("send", "a", to="eve"), call("send", "b", to="ann"))]
    gate = ToolGate(argument_policies=[new_address])
    talk = chat(script, [ran.tool("send", SEND)], gate=gate, asynchronous=asynchronous)
    talk.say()
    (note,) = [one for one in talk.request.description().splitlines() if "eve is new" in one]
    assert note.startswith("Note: a person must see it: new_address: eve is new")
    assert not hidden_in(talk, "\u202e")
    assert talk.request.remember == ()
    talk.answer()
    assert "eve is new" not in talk.request.description()
    assert talk.request.remember != ()
    talk.answer("reject")
    assert ran.runs == [("send", {"to": "eve"})]


@pytest.mark.parametrize("raw", ["", "\u202e"], ids=["plain", "hidden"])
def test_a_clean_calls_always_does_not_release_a_sibling_whose_preview_hides_something(
    asynchronous: bool, raw: str
) -> None:
    """A clean call's "always this tool" while a sibling of that tool carries hidden characters → the sibling is still
    asked."""
    ran = Recorder()
    profile = ToolProfile(tier=Tier.ROUTINE, preview=lambda arguments: f"saves {arguments['n']}{raw * arguments['n']}")
    turn = says(call("save", "clean", n=0), call("save", "sibling", n=1))
    talk = chat([turn], [ran.tool("save", profile)], asynchronous=asynchronous)
    talk.say()
    talk.answer("approve", remember="tool")
    if raw:
        assert (talk.request.tool_call_id, ran.runs) == ("sibling", [])
        talk.answer("reject")
    assert sorted(arguments["n"] for _, arguments in ran.runs) == ([0] if raw else [0, 1])
