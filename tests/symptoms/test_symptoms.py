"""What users of other gates reported, each as a test that carries the report's words, on every host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain.agents.middleware.types import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from toolgate_langchain import Surface, Tier, ToolGate, ToolProfile, Verdict
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.testing import all_hosts
from toolgate_langchain.testing.hosts import MIDDLEWARE, Conversation, Host, Setup
from toolgate_langchain.testing.model import Turn, call, says

HOSTS = all_hosts()
NAMES = [f"{host.name}, {'async' if host.asynchronous else 'sync'}" for host in HOSTS]
every_host = pytest.mark.parametrize("host", HOSTS, ids=NAMES)
hosts_with_middleware = pytest.mark.parametrize(
    "host",
    [host for host in HOSTS if MIDDLEWARE in host.abilities],
    ids=[name for host, name in zip(HOSTS, NAMES, strict=True) if MIDDLEWARE in host.abilities],
)


@dataclass
class Workshop:
    """Tools that note their runs, and conversations about them."""

    ran: list[str] = field(default_factory=list)

    def tool(self, name: str, tier: Tier | None = Tier.CONSEQUENTIAL, **profile: Any) -> BaseTool:
        def run(to: str = "") -> str:
            self.ran.append(f"{name} {to}")
            return f"{name} did {to}"

        async def arun(to: str = "") -> str:
            return run(to)

        given = ToolProfile(tier=tier, **profile)
        made = StructuredTool.from_function(run, arun, name=name, description=f"Does {name}.")
        return made.model_copy(update={"metadata": {"toolgate": given}})

    def talk(
        self, host: Host, script: Sequence[Turn], tools: Sequence[BaseTool], gate: ToolGate | None = None, **setup: Any
    ) -> Conversation:
        asked = {"surface": "chat", **setup}
        return host.start(Setup(gate=gate or ToolGate(), script=list(script), tools=list(tools), **asked))


@pytest.fixture
def shop() -> Workshop:
    return Workshop()


def answer(talk: Conversation, kind: str = "approve", **more: Any) -> None:
    (request,) = talk.requests
    talk.answer({"type": kind, "request_id": request.request_id, **more})


def results(talk: Conversation) -> dict[str, list[str]]:
    """The texts of all tool messages, by call id."""
    told: dict[str, list[str]] = {}
    for message in talk.messages:
        if isinstance(message, ToolMessage):
            told.setdefault(message.tool_call_id, []).append(message.text)
    return told


def dangling(talk: Conversation) -> set[str]:
    """The ids of calls without a tool message."""
    made = {one["id"] for message in talk.messages if isinstance(message, AIMessage) for one in message.tool_calls}
    return {str(call_id) for call_id in made} - set(results(talk))


class JumpsToTheTools(AgentMiddleware[Any, Any, Any]):
    """A middleware that sends the agent back to its tools once there is a result."""

    jumps = 0

    @hook_config(can_jump_to=["tools"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if self.jumps or not isinstance(state["messages"][-1], ToolMessage):
            return None
        self.jumps += 1
        return {"jump_to": "tools"}


@hosts_with_middleware
def test_a_jump_to_or_a_router_re_runs_a_rejected_call(host: Host, shop: Workshop) -> None:
    """After the rejection another middleware jumps to the tools; nothing runs, and nothing is said twice."""
    jumps = JumpsToTheTools()
    talk = shop.talk(host, [says(call("send", "s", to="ann"))], [shop.tool("send")], others=[jumps])
    talk.say("go")
    answer(talk, "reject")
    assert (jumps.jumps, shop.ran) == (1, [])
    assert len(results(talk)["s"]) == 1
    assert "rejected" in results(talk)["s"][0]


@every_host
def test_a_rejected_call_that_comes_again_is_not_run(host: Host, shop: Workshop) -> None:
    talk = shop.talk(host, [says(call("send", "s", to="ann")), says(call("send", "t", to="ann"))], [shop.tool("send")])
    talk.say("go")
    answer(talk, "reject")
    assert (talk.requests, shop.ran) == ([], [])


@every_host
@pytest.mark.parametrize("verdict", [Verdict.DENY, Verdict.ASK])
def test_an_edit_reaches_a_tool_whose_own_policy_was_skipped(host: Host, shop: Workshop, verdict: Verdict) -> None:
    """What a person writes goes through the policy of the tool like what a model writes."""

    def not_to_eve(view: ArgumentView) -> PolicyAnswer:
        return PolicyAnswer(verdict if view.arguments["to"] == "eve" else Verdict.ALLOW, "not to eve")

    gate = ToolGate(argument_policies=[not_to_eve])
    talk = shop.talk(host, [says(call("send", "s", to="ann"))], [shop.tool("send")], gate)
    talk.say("go")
    answer(talk, "edit", edited_action={"name": "send", "args": {"to": "eve"}})
    # A deny wins; where the policy only wants a person to see it, the person who wrote it has.
    assert shop.ran == ([] if verdict is Verdict.DENY else ["send eve"])
    assert dangling(talk) == set()


@every_host
def test_an_edit_to_another_tool_is_asked_again_and_runs_nothing(host: Host, shop: Workshop) -> None:
    talk = shop.talk(host, [says(call("send", "s", to="ann"))], [shop.tool("send"), shop.tool("erase")])
    talk.say("go")
    answer(talk, "edit", edited_action={"name": "erase", "args": {"to": "all"}})
    assert shop.ran == []
    assert talk.requests[0].error
    answer(talk, "reject")
    assert shop.ran == []


@every_host
@pytest.mark.parametrize("name", ["sned", "Send", "send ", "sеnd"], ids=["misspelt", "case", "blank", "cyrillic"])
def test_a_misspelt_or_unlisted_tool_runs(host: Host, shop: Workshop, name: str) -> None:
    talk = shop.talk(host, [says(call(name, "s", to="ann"))], [shop.tool("send", Tier.READ_ONLY)])
    talk.say("go")
    assert (shop.ran, talk.requests) == ([], [])
    assert "There is no such tool" in results(talk)["s"][0]


@every_host
def test_a_tool_that_nobody_listed_is_asked_about(host: Host, shop: Workshop) -> None:
    talk = shop.talk(host, [says(call("send", "s", to="ann"))], [shop.tool("send", None)])
    talk.say("go")
    assert shop.ran == []
    assert talk.requests[0].tier == "unclassified"


@every_host
def test_approvals_lost_unless_the_model_says_the_same_again(host: Host, shop: Workshop) -> None:
    """The approved call runs from the record; the model is not asked to repeat it."""
    said = 0

    def speak(messages: Any) -> AIMessage:
        nonlocal said
        said += 1
        return says(call("send", "s", to="ann")) if said == 1 else AIMessage("done")

    talk = shop.talk(host, [speak, speak], [shop.tool("send")])
    talk.say("go")
    assert said == 1
    answer(talk)
    assert shop.ran == ["send ann"]
    assert said == 2


@every_host
def test_one_rejection_discards_approved_siblings_or_leaves_a_dangling_call_id(host: Host, shop: Workshop) -> None:
    calls = [call("send", "a", to="ann"), call("send", "b", to="bob"), call("send", "c", to="cid")]
    talk = shop.talk(host, [says(*calls)], [shop.tool("send")])
    talk.say("go")
    for kind in ("approve", "reject", "approve"):
        answer(talk, kind)
    assert sorted(shop.ran) == ["send ann", "send cid"]
    assert dangling(talk) == set()
    assert "rejected" in results(talk)["b"][0]


@every_host
def test_a_second_call_of_a_turn_never_prompts(host: Host, shop: Workshop) -> None:
    talk = shop.talk(host, [says(call("send", "a", to="ann"), call("send", "b", to="bob"))], [shop.tool("send")])
    talk.say("go")
    assert (talk.requests[0].tool_call_id, talk.requests[0].position, talk.requests[0].of) == ("a", 1, 2)
    answer(talk)
    assert shop.ran == []
    assert (talk.requests[0].tool_call_id, talk.requests[0].position, talk.requests[0].of) == ("b", 2, 2)
    answer(talk)
    assert sorted(shop.ran) == ["send ann", "send bob"]


@every_host
@pytest.mark.parametrize("kind", ["approve", "reject", "respond", "edit", "superseded"])
def test_two_tool_messages_for_one_call(host: Host, shop: Workshop, kind: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "respond": {"message": "done by hand"},
        "edit": {"edited_action": {"name": "send", "args": {"to": "bob"}}},
    }
    talk = shop.talk(host, [says(call("send", "s", to="ann"))], [shop.tool("send")])
    talk.say("go")
    if kind == "superseded":
        talk.say("something else")
    else:
        answer(talk, kind, **more.get(kind, {}))
    talk.say("and now")
    assert {call_id: len(texts) for call_id, texts in results(talk).items()} == {"s": 1}


@every_host
def test_identical_ids_in_one_turn_are_told_apart(host: Host, shop: Workshop) -> None:
    talk = shop.talk(host, [says(call("send", "x", to="ann"), call("send", "x", to="bob"))], [shop.tool("send")])
    talk.say("go")
    answer(talk)
    answer(talk, "reject")
    assert shop.ran == ["send ann"]
    assert dangling(talk) == set()
    assert sorted(map(len, results(talk).values())) == [1, 1]


@every_host
def test_a_reviewers_edit_is_undone_by_the_models_retry(host: Host, shop: Workshop) -> None:
    script = [says(call("send", "s", to="all")), says(call("send", "t", to="all")), AIMessage("done")]
    talk = shop.talk(host, script, [shop.tool("send")])
    talk.say("go")
    answer(talk, "edit", edited_action={"name": "send", "args": {"to": "ann"}})
    assert (shop.ran, talk.requests) == (["send ann"], [])
    assert "ran with" in results(talk)["s"][0]
    assert "replaced" in results(talk)["t"][0]


@every_host
def test_the_always_of_one_surface_used_in_another(host: Host, shop: Workshop) -> None:
    gate = ToolGate(surfaces=[Surface("chat"), Surface("desk")])
    send = shop.tool("send", Tier.ROUTINE)
    script = [says(call("send", "s", to="ann")), says(call("send", "t", to="ann"))]
    talk = shop.talk(host, script, [send], gate, thread="one")
    talk.say("go")
    answer(talk, remember="tool")
    assert shop.ran == ["send ann", "send ann"]
    elsewhere = shop.talk(
        host, [says(call("send", "u", to="ann"))], [send], gate, surface="desk", thread="one", memory=talk.memory
    )
    elsewhere.say("go")
    assert len(shop.ran) == 2
    assert elsewhere.requests[0].tool_call_id == "u"


@every_host
def test_the_always_of_one_workspace_used_in_another(host: Host, shop: Workshop) -> None:
    """Another thread of the same agent is another workspace."""
    gate, send = ToolGate(), shop.tool("send", Tier.ROUTINE)
    talk = shop.talk(host, [says(call("send", "s", to="ann"))], [send], gate)
    talk.say("go")
    answer(talk, remember="tool")
    other = shop.talk(host, [says(call("send", "t", to="ann"))], [send], gate)
    other.say("go")
    assert shop.ran == ["send ann"]
    assert other.requests[0].tool_call_id == "t"


@hosts_with_middleware
@pytest.mark.parametrize("tier", [Tier.CONSEQUENTIAL, Tier.READ_ONLY])
def test_a_jump_to_re_runs_a_call_that_has_its_result(host: Host, shop: Workshop, tier: Tier) -> None:
    """What has run stays as it is: it does not run again, and its result is neither replaced nor doubled."""
    jumps = JumpsToTheTools()
    talk = shop.talk(host, [says(call("send", "s", to="ann"))], [shop.tool("send", tier)], others=[jumps])
    talk.say("go")
    if tier is Tier.CONSEQUENTIAL:
        answer(talk)
    assert jumps.jumps == 1
    assert results(talk) == {"s": ["send did ann"]}
    assert shop.ran == ["send ann"]
