"""What existing approval screens read of an interrupt, what they refuse to show, and what they send back.

Each reader does in a few lines what its screen does with the value of an interrupt and with a click.
Their contracts were read from the sources that are named beside them: repository, path and commit, or package and
version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware.human_in_the_loop import HITLRequest
from langgraph.types import Interrupt
from pydantic import TypeAdapter

__all__ = ["SCREENS", "Card", "Screen", "as_sent"]


@dataclass(frozen=True)
class Card:
    """What a person sees of one call."""

    name: str
    args: dict[str, Any]
    buttons: frozenset[str]
    """The answers that can be given, in LangChain's words."""
    text: str


def as_sent(interrupt: Interrupt) -> dict[str, Any]:
    """An interrupt as a page receives it."""
    sent: dict[str, Any] = json.loads(json.dumps({"id": interrupt.id, "value": interrupt.value}, allow_nan=False))
    return sent


def decisions(*each: dict[str, Any]) -> dict[str, Any]:
    return {"decisions": list(each)}


class Screen:
    """One screen; the answers are those that most of them send."""

    edits = True
    reasons = True
    """Whether a rejection has room for why."""

    def card(self, interrupt: dict[str, Any]) -> Card:
        raise NotImplementedError

    def approve(self, card: Card) -> Any:
        return decisions({"type": "approve"})

    def reject(self, card: Card, reason: str) -> Any:
        return decisions({"type": "reject", "message": reason})

    def edit(self, card: Card, key: str, typed: str) -> Any:
        """Change one field; what is typed into a text field is sent as a text."""
        return decisions({"type": "edit", "edited_action": {"name": card.name, "args": {**card.args, key: typed}}})

    def in_resume(self, interrupt: dict[str, Any], answer: Any) -> Any:
        """What goes into `Command(resume=...)`."""
        return answer


class AgentChatUI(Screen):
    """The buttons and the decision: langchain-ai/agent-chat-ui, src/components/thread/agent-inbox/utils.ts, commit
    254cd6fe68cc7529cb6914a262f2e2321699f7a6, and types.ts beside it, commit 3b5ea3e4fcff8e2b73235ea8dae741c3bdc3094f.

    The guard, src/lib/agent-inbox-interrupt.ts there, was read in a copy: wqaetly/ai_agent_for_skill,
    webui/src/lib/agent-inbox-interrupt.ts, commit 4ba03c175359dcd93222e0f9461e4d05fe636c50. A rejection needs words,
    and an edit in which nothing was changed is sent as an approval.
    """

    def card(self, interrupt: dict[str, Any]) -> Card:
        value = interrupt["value"]
        requests, reviews = value["action_requests"], value["review_configs"]
        assert isinstance(requests, list) and requests and isinstance(reviews, list) and reviews
        assert all(isinstance(one["name"], str) and isinstance(one["args"], dict) for one in requests)
        assert all(isinstance(one["action_name"], str) for one in reviews)
        assert all(isinstance(one["allowed_decisions"], list) for one in reviews)
        first = requests[0]
        review = next((one for one in reviews if one["action_name"] == first["name"]), reviews[0])
        buttons = {"approve", "reject", "edit"} & set(review["allowed_decisions"])
        return Card(first["name"], first["args"], frozenset(buttons), first["description"])


class DeepAgentsUI(Screen):
    """langchain-ai/deep-agents-ui, src/app/components/ToolApprovalInterrupt.tsx, commits
    854ac81a25c2dd845da16a9b7f3f7f1cbccc7278 and 161a3eaed8f8c271cbf095ceb1ef23b07c77d54a, and `resumeInterrupt` of
    src/app/hooks/useChat.ts, commit 0ef05fe38eddcdd048676fc1fbde602e1441e045."""

    def card(self, interrupt: dict[str, Any]) -> Card:
        value = interrupt["value"]
        first = value["action_requests"][0]
        mine = [one for one in value.get("review_configs", []) if one.get("actionName") == first["name"]]
        review: dict[str, Any] = mine[0] if mine else {}
        # Without a review in its own spelling it offers all three, also those that are not allowed.
        buttons = {"approve", "reject", "edit"} & set(review.get("allowedDecisions") or ["approve", "reject", "edit"])
        return Card(first["name"], first["args"], frozenset(buttons), first["description"])


class DeepAgentsUICards(Screen):
    """langchain-ai/deep-agents-ui, src/app/components/InterruptActions.tsx and `sendHumanResponse` of
    src/app/hooks/useChat.ts, both at commit 7858736e91bb739f6c7a976f8fcee16ea45d5e68."""

    def card(self, interrupt: dict[str, Any]) -> Card:
        value = interrupt["value"]
        assert isinstance(value["action_requests"], list) and isinstance(value["review_configs"], list)
        first, allowed = value["action_requests"][0], value["review_configs"][0].get("allowed_decisions") or []
        name, args = first.get("name") or first.get("action"), first.get("args") or first.get("arguments") or {}
        return Card(name, args, frozenset({"approve", "reject", "edit"} & set(allowed)), first["description"])

    def reject(self, card: Card, reason: str) -> Any:
        return decisions({"type": "reject", "message": f"Rejected by user: {reason}" if reason else "Rejected by user"})


class DeepAgentsCode(Screen):
    """The package deepagents-code 0.1.88, tui/textual_adapter.py and client/non_interactive.py: an interrupt that is
    not a valid `HITLRequest` ends the turn or is rejected unseen; tui/widgets/approval.py: the menu. In their
    repository: langchain-ai/deepagents, libs/code/deepagents_code/, commits 953b33389bb6a5d0fe70c42d1b873af09730573f,
    a1abe6f32697e2478fa46416fb8e9e182765a069 and 58e7b781ba70356e65ed606c7b9724172709e0a2."""

    edits = False

    def card(self, interrupt: dict[str, Any]) -> Card:
        (only,) = TypeAdapter(HITLRequest).validate_python(interrupt["value"])["action_requests"]
        return Card(only["name"], only["args"], frozenset({"approve", "reject"}), only["description"])

    def in_resume(self, interrupt: dict[str, Any], answer: Any) -> Any:
        return {interrupt["id"]: answer}


class DeepAgentsAcp(Screen):
    """The package deepagents-acp 0.0.13, `_handle_interrupts` of server.py: what an editor shows, and what a click in
    it becomes. A closed dialogue becomes a rejection too. Only one of a plan, a call of `write_todos`, has words, the
    screen's own, as "feedback". In its repository: langchain-ai/deepagents, libs/acp/deepagents_acp/server.py, commit
    eaae74950f5b83bec6464d7fdc7f962866cd3013."""

    edits = False
    reasons = False

    def card(self, interrupt: dict[str, Any]) -> Card:
        assert isinstance(interrupt["value"], dict)
        (only,) = interrupt["value"].get("action_requests", [])
        return Card(only.get("name", "tool"), only.get("args", {}), frozenset({"approve", "reject"}), "")

    def reject(self, card: Card, reason: str) -> Any:
        return decisions({"type": "reject"})


class AgentInbox(Screen):
    """langchain-ai/agent-inbox, below src/components/agent-inbox: contexts/utils.ts (`normalizeInterrupt`), commit
    0263e34f59a2da51c26418f930ee2f331bb40570; utils.ts (the answers), commit 8bc95715e8864effdf5fa522497dbe1db81b48cd;
    hooks/use-interrupted-actions.tsx (which of them is sent; "ignore" always has a button), commit
    091034b27a812ccc403007129bff12c272d3e729; contexts/ThreadContext.tsx (`sendHumanResponse`, which rewords types and
    leaves `args`), commit 1141fd0292d65b0a5d88bc2f318dc009d31f217c."""

    def card(self, interrupt: dict[str, Any]) -> Card:
        value = interrupt["value"]
        assert isinstance(value["action_requests"], list) and value["action_requests"]
        first, allowed = value["action_requests"][0], value["review_configs"][0]["allowed_decisions"]
        args = first.get("args") if first.get("args") is not None else first.get("arguments") or {}
        buttons = {"approve", "reject", "edit"} & set(allowed)
        return Card(first.get("name", ""), args, frozenset(buttons), first.get("description"))

    def approve(self, card: Card) -> Any:
        # Where a call may be edited too, an approval carries the call as it was shown.
        shown = {"action": card.name, "args": card.args}
        return decisions({"type": "approve", "args": shown if "edit" in card.buttons else None})

    def reject(self, card: Card, reason: str) -> Any:
        return decisions({"type": "reject", "args": reason})

    def edit(self, card: Card, key: str, typed: str) -> Any:
        return decisions({"type": "edit", "args": {"action": card.name, "args": {**card.args, key: typed}}})

    def ignore(self, card: Card) -> Any:
        return decisions({"type": "ignore", "args": None})


class AgentInboxOwnShape(AgentInbox):
    """The same, as it answers where it does not reword: contexts/ThreadContext.tsx, commit
    8e2dfd0f27a0514eb683fa49a28c6600dd85d7f1, which sends `HumanResponse` of langgraph.prebuilt.interrupt."""

    reasons = False

    def approve(self, card: Card) -> Any:
        return [{"type": "accept", "args": {"action": card.name, "args": card.args}}]

    def reject(self, card: Card, reason: str) -> Any:
        return [{"type": "ignore", "args": None}]

    def edit(self, card: Card, key: str, typed: str) -> Any:
        return [{"type": "edit", "args": {"action": card.name, "args": {**card.args, key: typed}}}]

    def respond(self, card: Card, text: str) -> Any:
        return [{"type": "response", "args": text}]

    def ignore(self, card: Card) -> Any:
        return [{"type": "ignore", "args": None}]


class AgUi(Screen):
    """ag-ui-protocol/ag-ui, integrations/langgraph/python/ag_ui_langgraph/interrupts.py, commit
    3989503c5068de0c650079cc025457e1ad5f1b2f: the fields that it takes out of the value; a page of one's own behind it
    has two buttons. The package ag-ui-langgraph 0.0.47, agent.py (`_build_command_from_agui_resume`): what the page
    sent is the answer, and closing it sends the sentinel."""

    edits = False

    def card(self, interrupt: dict[str, Any]) -> Card:
        value = interrupt["value"]
        assert isinstance(interrupt["id"], str) and isinstance(value["reason"], str)
        assert isinstance(value["tool_call_id"], str) and value["expires_at"] is None
        (only,) = value["action_requests"]
        return Card(only["name"], only["arguments"], frozenset({"approve", "reject"}), value["message"])

    def approve(self, card: Card) -> Any:
        return {"approved": True}

    def reject(self, card: Card, reason: str) -> Any:
        return {"approved": False, "reason": reason}

    def cancelled(self, interrupt: dict[str, Any]) -> Any:
        return {"__agui_cancelled__": True, "interrupt_id": interrupt["id"]}


SCREENS: list[Screen] = [
    AgentChatUI(),
    DeepAgentsUI(),
    DeepAgentsUICards(),
    DeepAgentsCode(),
    DeepAgentsAcp(),
    AgentInbox(),
    AgentInboxOwnShape(),
    AgUi(),
]
