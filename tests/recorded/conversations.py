"""The recorded conversations: what the user says, what the person answers, and how they are driven.

Tests and the recorder drive them with the same code, so that the requests are the same to the last word.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from toolgate_langchain import ApprovalRequest, Tier, ToolGate, ToolGateMiddleware, adrive, drive, tool_profile
from toolgate_langchain.hosts.langgraph.driving import pending_requests
from toolgate_langchain.hosts.record import CallOutcome
from toolgate_langchain.ui.cassettes import RECORDED_BASE_URL, chat_model
from toolgate_langchain.ui.demo import file_tools, prepare_folder

CONFIG: RunnableConfig = {"configurable": {"thread_id": "recorded"}}

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Conversation:
    """What a user says, and what a person answers to what is asked meanwhile."""

    name: str
    """The name of its cassette."""
    turns: tuple[str, ...]
    answers: tuple[Answer, ...] = ()
    streamed: bool = False


PLAIN = Conversation("plain", ("Read report.txt.",))

SEVERAL_TURNS = Conversation(
    "several-turns",
    (
        "What is the weather in Paris?",
        "Send an e-mail to ann@example.com with the subject Weather that says what the weather in Paris is.",
        "Delete the note old-plans.",
    ),
    ({"type": "approve"}, {"type": "approve"}),
)

REJECTED = Conversation(
    "rejected", ("Delete draft.txt.",), ({"type": "reject", "message": "Ann still needs this file."},)
)

STREAMED = Conversation(
    "streamed",
    ("Write the sentence 'Revenue rose by 4 percent.' to summary.txt.",),
    ({"type": "approve"},),
    streamed=True,
)

CONVERSATIONS = (PLAIN, SEVERAL_TURNS, REJECTED, STREAMED)


@dataclass
class Told:
    """A conversation as it went."""

    folder: Path
    messages: list[BaseMessage] = field(default_factory=list)
    requests: list[ApprovalRequest] = field(default_factory=list)
    outcomes: list[CallOutcome] = field(default_factory=list)
    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """What the tools without files noted of their runs."""
    chunks: list[tuple[str, Any]] = field(default_factory=list)
    """What was streamed, with the mode of each chunk."""

    @property
    def calls(self) -> list[ToolCall]:
        """Every call that the model made."""
        return [call for message in self.messages if isinstance(message, AIMessage) for call in message.tool_calls]

    @property
    def results(self) -> list[ToolMessage]:
        """Every result that the model was given."""
        return [message for message in self.messages if isinstance(message, ToolMessage)]

    @property
    def decided(self) -> list[tuple[str, str]]:
        """Each call's tool with the code of its decision."""
        return [(outcome.name, outcome.code) for outcome in self.outcomes]


class Telling:
    """One conversation, with its agent, tools and scripted person."""

    def __init__(self, conversation: Conversation, folder: Path, base_url: str = RECORDED_BASE_URL) -> None:
        prepare_folder(folder)
        self._conversation, self._told = conversation, Told(folder)
        self._answers = iter(conversation.answers)
        tools = everyday_tools(self._told) if conversation is SEVERAL_TURNS else file_tools(folder)
        gate = ToolGate(on_decision=self._told.outcomes.append)
        self._agent: Any = create_agent(
            chat_model(base_url), tools, middleware=[ToolGateMiddleware(gate)], checkpointer=InMemorySaver()
        )

    def tell(self) -> Told:
        """Drive the conversation to its end."""
        for text in self._conversation.turns:
            said = {"messages": [HumanMessage(text)]}
            if self._conversation.streamed:
                self._stream(said)
            else:
                drive(self._agent, said, CONFIG, approver=self._answer)
        self._told.messages = self._agent.get_state(CONFIG).values["messages"]
        return self._told

    async def atell(self) -> Told:
        """As `tell`, asynchronously."""
        for text in self._conversation.turns:
            said = {"messages": [HumanMessage(text)]}
            if self._conversation.streamed:
                await self._astream(said)
            else:
                await adrive(self._agent, said, CONFIG, approver=self._answer)
        self._told.messages = (await self._agent.aget_state(CONFIG)).values["messages"]
        return self._told

    def _answer(self, request: ApprovalRequest, /) -> Answer:
        self._told.requests.append(request)
        return {**next(self._answers), "request_id": request.request_id}

    def _stream(self, said: Any) -> None:
        while said is not None:
            stream: Iterator[Any] = self._agent.stream(said, CONFIG, stream_mode=["messages", "updates"])
            self._told.chunks += stream
            said = self._resumed(self._agent.get_state(CONFIG).interrupts)

    async def _astream(self, said: Any) -> None:
        while said is not None:
            stream: AsyncIterator[Any] = self._agent.astream(said, CONFIG, stream_mode=["messages", "updates"])
            self._told.chunks += [chunk async for chunk in stream]
            said = self._resumed((await self._agent.aget_state(CONFIG)).interrupts)

    def _resumed(self, interrupts: Any) -> Command[Any] | None:
        pending = pending_requests(interrupts)
        return Command(resume=self._answer(pending[0][1])) if pending else None


def everyday_tools(told: Told) -> list[BaseTool]:
    """Tools that only note that they ran."""

    @tool_profile(tier=Tier.READ_ONLY)
    @tool
    def get_weather(city: str) -> str:
        """Tell the weather in a city."""
        told.ran.append(("get_weather", {"city": city}))
        return f"Sunny, 21 degrees in {city}."

    @tool_profile(tier=Tier.CONSEQUENTIAL)
    @tool
    def send_email(to: str, subject: str, body: str) -> str:
        """Send an e-mail."""
        told.ran.append(("send_email", {"to": to, "subject": subject, "body": body}))
        return f"Sent to {to}."

    @tool_profile(tier=Tier.CONSEQUENTIAL)
    @tool
    def delete_note(title: str) -> str:
        """Delete a note."""
        told.ran.append(("delete_note", {"title": title}))
        return f"Deleted the note {title}."

    return [get_weather, send_email, delete_note]
