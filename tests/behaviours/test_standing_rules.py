"""What a standing rule reaches later, and everything that it does not release."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from tests.behaviours.processes import Processes
from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import RemoteServer, Surface, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict
from toolgate_langchain.hosts.engine.run_state import RULES
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer

ASKED = ToolProfile(tier=Tier.ROUTINE)
OK = AIMessage("ok")


class TestOrigin:
    """A rule for a tool of server A does not cover the same name from server B, nor a local tool of that name."""

    def gate(self, server: str | None, tool: BaseTool) -> ToolGate:
        catalog = ToolCatalog()
        if server is None:
            catalog.register(tool, ASKED)
        else:
            assert catalog.add_remote(RemoteServer(server, profiles={tool.name: ASKED}), [tool]) == ()
        return ToolGate(catalog)

    @pytest.mark.parametrize("remember", ["arguments", "tool"])
    def test_only_the_server_it_was_made_for(self, asynchronous: bool, remember: str) -> None:
        ran, saver = Recorder(), InMemorySaver()
        tool = ran.tool("deploy")

        def again(server: str | None) -> Chat:
            script = [says(call("deploy"))]
            return chat(script, [tool], gate=self.gate(server, tool), checkpointer=saver, asynchronous=asynchronous)

        again("a").taught(remember)
        for other in ("b", None):
            talk = again(other)
            talk.say("again")
            assert talk.request.origin == ("server:b" if other else "local")
        talk = again("a")
        talk.say("again")
        assert talk.requests == []
        assert ran.count("deploy") == 2


class TestChangedTools:
    """The tool's schema, description, server command or tier changes → its rules are void; the next call asks and
    says why."""

    SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}

    def local(self, ran: Recorder, *, tier: Tier = Tier.ROUTINE, schema: Any = SCHEMA) -> tuple[ToolGate, BaseTool]:
        return ToolGate(), ran.tool("deploy", ToolProfile(tier=tier, standing="tool"), schema=schema)

    def remote(
        self, ran: Recorder, *, description: str = "Deploys.", launch: Sequence[str] = ("run",)
    ) -> tuple[ToolGate, BaseTool]:
        catalog = ToolCatalog()
        tool = ran.tool("deploy", schema=self.SCHEMA).model_copy(update={"description": description})
        server = RemoteServer("a", launch=tuple(launch), profiles={"deploy": ToolProfile(tier=Tier.ROUTINE)})
        assert catalog.add_remote(server, [tool]) == ()
        return ToolGate(catalog), tool

    @pytest.mark.parametrize("remember", ["arguments", "tool"])
    @pytest.mark.parametrize(
        ("kind", "change", "why"),
        [
            ("local", {"schema": {"type": "object", "properties": {"n": {"type": "number"}}}}, "definition"),
            ("local", {"tier": Tier.CONSEQUENTIAL}, "tier"),
            ("remote", {"description": "Deploys. Harmless."}, "definition"),
            ("remote", {"launch": ["run", "--as-root"]}, "definition"),
        ],
        ids=["schema", "tier", "description", "server command"],
    )
    def test_its_rules_are_void_and_the_next_call_says_why(
        self, asynchronous: bool, kind: str, change: dict[str, Any], why: str, remember: str
    ) -> None:
        ran, saver = Recorder(), InMemorySaver()
        make: Callable[..., tuple[ToolGate, BaseTool]] = getattr(self, kind)

        def again(**changed: Any) -> Chat:
            gate, tool = make(ran, **changed)
            script = [says(call("deploy", n=1))]
            return chat(script, [tool], gate=gate, checkpointer=saver, asynchronous=asynchronous)

        again().taught(remember)
        talk = again()
        talk.say("again")
        assert talk.requests == []
        talk = again(**change)
        talk.say("after the change")
        assert any("void" in note and f"{why} changed" in note for note in talk.request.notes)
        assert ran.count("deploy") == 2


class TestSurvival:
    """Rules survive: a new turn, a new process on the same thread, serialisation to JSON and back."""

    def test_a_new_turn(self, asynchronous: bool) -> None:
        """Rules survive a new turn of the same run."""
        ran = Recorder()
        chat([says(call("deploy"))] * 3, [ran.tool("deploy", ASKED)], asynchronous=asynchronous).taught()
        assert ran.count("deploy") == 3

    def test_serialisation_to_json_and_back(self, asynchronous: bool) -> None:
        """The rules of a thread, written as JSON text and put back into another thread, hold there."""
        ran, saver = Recorder(), InMemorySaver()
        tools = [ran.tool("deploy", ASKED)]
        talk = chat([says(call("deploy"))], tools, checkpointer=saver, asynchronous=asynchronous).taught()
        text = json.dumps(talk.agent.get_state(talk.config).values[RULES])
        other = chat([says(call("deploy"))], tools, checkpointer=saver, thread="other", asynchronous=asynchronous)
        start = "ToolGateMiddleware.before_agent"
        other.agent.update_state(other.config, {RULES: json.loads(text)}, as_node=start)
        other.say()
        assert other.requests == []
        assert ran.count("deploy") == 2

    def test_a_new_process_on_the_same_thread(self, tmp_path: Path, asynchronous: bool) -> None:
        """Rules survive a new process on the same thread. A rule in scope `thread` does not reach another thread."""
        processes = Processes(tmp_path / "thread.db", asynchronous=asynchronous)
        deploy = [("deploy", {"n": 1, "m": [1.0, None]}, "d")]
        assert processes.step(deploy)["request"]["tool"] == "deploy"
        assert processes.step(answer={"type": "approve", "remember": "arguments"})["ran"] == [list(deploy[0][:2])]
        again = processes.step(deploy)
        assert (again["request"], again["ran"]) == (None, [list(deploy[0][:2])])
        assert processes.step(deploy, thread="another")["request"]["tool"] == "deploy"


def test_a_rule_does_not_reach_another_thread(asynchronous: bool) -> None:
    """A rule in scope `thread` does not reach another thread."""
    ran, saver, gate = Recorder(), InMemorySaver(), ToolGate()
    tools = [ran.tool("deploy", ASKED)]
    chat([says(call("deploy"))], tools, gate=gate, checkpointer=saver, asynchronous=asynchronous).taught("tool")
    other = chat(
        [says(call("deploy"))], tools, gate=gate, checkpointer=saver, thread="other", asynchronous=asynchronous
    )
    other.say()
    assert other.request.tool_name == "deploy"


def test_a_rule_of_a_run_ends_with_it(asynchronous: bool) -> None:
    """A rule in scope `run` holds in later turns of the run and not in the next run, also after it left the state."""
    ran = Recorder()
    script = [says(call("deploy")), says(call("deploy")), OK, says(call("deploy"))]
    talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous).taught({"what": "tool", "scope": "run"})
    assert ran.count("deploy") == 2
    assert len(talk.rules) == 1
    talk.say("a new run")
    assert talk.request.tool_name == "deploy"
    assert talk.rules == []


@pytest.mark.parametrize(("other", "refused"), [("cli", False), ("cron", True)])
def test_a_rule_made_on_chat_does_not_release_calls_elsewhere(asynchronous: bool, other: str, refused: bool) -> None:
    """A rule made on surface `chat` does not release calls on `cron`, nor on another attended surface."""
    ran, saver, gate = Recorder(), InMemorySaver(), ToolGate()
    tools = [ran.tool("deploy", ToolProfile(tier=Tier.READ_ONLY, requires_approval=True))]

    def on(surface: str) -> Chat:
        script = [says(call("deploy", surface))]
        return chat(script, tools, gate=gate, checkpointer=saver, surface=surface, asynchronous=asynchronous)

    on("chat").taught("tool")
    talk = on(other)
    talk.say()
    assert len(talk.requests) == (0 if refused else 1)
    if refused:
        assert "nobody is there" in talk.result("cron")
    assert ran.count("deploy") == 1
    if refused:
        talk = on("chat")
        talk.say()
        assert ran.count("deploy") == 2


class TestWhatARuleNeverReleases:
    """A standing rule never releases what an argument policy says must be asked, nor anything denied."""

    @staticmethod
    def policy(view: ArgumentView) -> PolicyAnswer:
        answers = {1: Verdict.ASK, 2: Verdict.DENY}
        return PolicyAnswer(answers.get(view.arguments["n"], Verdict.ALLOW), "look at it")

    def test_what_an_argument_policy_says_must_be_asked(self, asynchronous: bool) -> None:
        """A standing rule never releases what an argument policy says must be asked, nor what it denies."""
        ran = Recorder()
        script = [says(call("deploy", n=0)), OK, says(call("deploy", "two", n=2), call("deploy", "one", n=1))]
        talk = chat(
            script,
            [ran.tool("deploy", ASKED)],
            gate=ToolGate(argument_policies=[self.policy]),
            asynchronous=asynchronous,
        )
        talk.taught("tool")
        talk.say("again")
        assert talk.request.tool_call_id == "one"
        assert talk.request.remember == ()
        talk.answer("approve", remember="tool")
        assert "not offered" in talk.request.error
        talk.answer("reject")
        assert ran.runs == [("deploy", {"n": 0})]
        assert "not executed" in talk.result("two")

    def test_what_a_sibling_made_a_rule_for_is_still_asked(self, asynchronous: bool) -> None:
        """Also not within the turn in which the rule is made."""
        ran = Recorder()
        turn = says(call("deploy", "zero", n=0), call("deploy", "one", n=1), call("deploy", "three", n=3))
        talk = chat(
            [turn],
            [ran.tool("deploy", ASKED)],
            gate=ToolGate(argument_policies=[self.policy]),
            asynchronous=asynchronous,
        )
        talk.say()
        talk.answer("approve", remember="tool")
        assert talk.request.tool_call_id == "one"
        talk.answer("reject")
        assert talk.requests == []
        assert sorted(arguments["n"] for _, arguments in ran.runs) == [0, 3]

    def test_what_is_denied(self, asynchronous: bool) -> None:
        """Nor anything denied: a tool that was switched off after the rule was made."""
        ran = Recorder()
        tool = ran.tool("deploy", ASKED)
        gate = ToolGate(ToolCatalog.from_tools([tool]))
        talk = chat(
            [says(call("deploy")), OK, says(call("deploy", "off"))], [tool], gate=gate, asynchronous=asynchronous
        )
        talk.taught("tool")
        gate.catalog.switch_tool("deploy", on=False)
        talk.say("again")
        assert talk.requests == []
        assert ran.count("deploy") == 1
        assert "not executed" in talk.result("off")

    def test_what_a_surface_denies(self, asynchronous: bool) -> None:
        """Nor what the surface has come to deny for the tool's tier."""
        ran, saver = Recorder(), InMemorySaver()
        tools = [ran.tool("deploy", ASKED)]

        def again(surface: Surface) -> Chat:
            gate = ToolGate(surfaces=[surface])
            return chat([says(call("deploy", "d"))], tools, gate=gate, checkpointer=saver, asynchronous=asynchronous)

        again(Surface("chat")).taught("tool")
        talk = again(Surface("chat", routine=Verdict.DENY))
        talk.say("again")
        assert talk.requests == []
        assert ran.count("deploy") == 1


def test_an_approval_taken_back_leaves_no_rule_even_if_its_turn_is_superseded(asynchronous: bool) -> None:
    """An approval that was taken back leaves no rule behind, also where the turn never came to its end."""
    ran = Recorder()
    script = [says(call("deploy"), call("restart")), OK, says(call("deploy"))]
    talk = chat(script, [ran.tool("deploy", ASKED), ran.tool("restart", ASKED)], asynchronous=asynchronous)
    talk.say()
    first = talk.request.request_id
    talk.answer("approve", remember="tool")
    withdrawn = talk.gate.answer(talk.agent, talk.config, {"type": "reject", "request_id": first})
    assert withdrawn.status == "withdrawn"
    talk.answer("approve", request_id="another")
    talk.say("something else instead")
    assert talk.rules == []
    talk.say("again")
    assert talk.request.tool_name == "deploy"
    assert ran.names == []
