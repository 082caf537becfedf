"""How a conversation of a `GatedAgent` is entered: with the user's words, with an answer, or to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    convert_to_messages,
)
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables.config import patch_config

from toolgate_langchain.approvals.answer import ApprovalAnswer, read_answer
from toolgate_langchain.approvals.turn import TurnRecord
from toolgate_langchain.canonical import check_plain
from toolgate_langchain.errors import ConfigurationError, InvalidAnswerError, NotPlainJsonError, SessionError
from toolgate_langchain.hosts.engine.answering import AnswerResult, barred, not_pending
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.engine.run_state import RULES, RUN, TURN
from toolgate_langchain.hosts.engine.superseding import LeftBehind, supersede
from toolgate_langchain.hosts.gated.children import request_ids_inside
from toolgate_langchain.hosts.gated.on_record import give_back, take_what_is_on_record
from toolgate_langchain.hosts.gated.progress import Progress
from toolgate_langchain.hosts.gated.runs import AgentRuntime, thread_in
from toolgate_langchain.hosts.gated.session import ApprovalSession, check_keys

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.gated.runs import SessionRuns

__all__ = ["Entry", "GatedAgentInput", "kept_answer", "words_alone"]


class GatedAgentInput(TypedDict, total=False):
    """What a `GatedAgent` takes. A text, a message or a list of messages stand for `{"messages": ...}`."""

    messages: Sequence[MessageLikeRepresentation] | Sequence[AnyMessage] | str
    """New words; they start a run. With a session they close what is pending in it."""

    session: ApprovalSession | Mapping[str, Any] | str
    """The conversation to go on with, as an object or in its JSON form, which may be text."""

    answer: ApprovalAnswer | Mapping[str, Any]
    """The answer to the session's request; goes without `messages`."""


_KEYS = {"messages", "session", "answer"}


class Entry:
    """Reads what an agent is given, and starts or resumes a run of it.

    Args:
        runs: The agent's runs.
        name: The agent's name.
        tools: The agent's tools.
        keys: The keys that sessions are signed with.
    """

    def __init__(self, runs: SessionRuns, *, name: str, tools: Sequence[BaseTool], keys: Sequence[bytes]) -> None:
        check_keys(keys)
        self._runs, self._gate, self._name, self._tools, self._keys = runs, runs.gate, name, tools, tuple(keys)

    def enter(self, given: Any, config: RunnableConfig) -> Steps[Progress]:
        """Start or resume a run.

        Args:
            given: What the agent was given.
            config: The config of the run, for its model and tools.

        Raises:
            ConfigurationError: If it is nothing that an agent takes.
            SessionError: If the session cannot be used.
        """
        read = _read(given)
        # The agent's tools are known before a session is gone on with in a process that has not met them.
        self._runs.meet_all(self._tools)
        session = self._session(read.get("session"))
        words = _messages(read.get("messages", ()))
        around = current_run.get()
        children = None if around is None else around.children
        if children is not None and words and "answer" not in read:
            key = children.key(self._name, words)
            kept = children.session(key)
            progress = self._progress(self._session(kept) if kept is not None else session, config)
            progress.key = key
            if kept is not None:
                if answer := children.answer_for(kept):
                    progress.take(answer[0])
                elif progress.status == "waiting":
                    # The call around it was tried again, or another agent in it was answered.
                    yield from take_what_is_on_record(self._gate, progress)
                return progress
        else:
            progress = self._progress(session, config)
        if words:
            if "answer" in read:
                raise ConfigurationError(
                    "an answer and new messages do not go together: messages start a new run, which closes the request"
                )
            yield from self._begin(progress, words)
            return progress
        if session is None:
            raise ConfigurationError("there are no messages: give the user's words, or a session to go on with")
        if "answer" in read:
            yield from self._answer(progress, read["answer"])
        elif progress.status == "waiting":
            yield from self._go_on(progress)
        return progress

    def read(self, saved: Mapping[str, Any], config: RunnableConfig) -> Progress:
        """A conversation as it was kept on this side, to be looked at.

        Args:
            saved: Its JSON form.
            config: The config of the run.
        """
        return self._progress(ApprovalSession.from_json(saved), config)

    def leave(self, progress: Progress) -> Steps[None]:
        """Give back the claim on the request whose answer was taken."""
        yield from give_back(self._gate, progress)

    # --- the session --------------------------------------------------------------------------

    def _session(self, given: Any) -> ApprovalSession | None:
        if given is None:
            return None
        session = given if isinstance(given, ApprovalSession) else ApprovalSession.from_json(given, self._keys)
        if self._keys and not session.trusted:
            raise SessionError(
                "the session was read without a key, and this agent has one: read it with "
                "ApprovalSession.from_json(value, keys=[...]), or give its JSON form"
            )
        if session.agent != self._name:
            raise SessionError(
                f"the session belongs to an agent named {session.agent!r}, and this one is {self._name!r}: give it to "
                "its own, or give both the same GatedAgent(name=...)"
            )
        return session

    def _progress(self, session: ApprovalSession | None, config: RunnableConfig) -> Progress:
        named = thread_in(config)
        if session is None:
            return Progress(AgentRuntime(config, self._tools), self._name, named, {"messages": []})
        if named is not None and named != session.thread_id:
            raise SessionError(
                f"the session belongs to thread {session.thread_id!r}, and the config names {named!r}: leave the "
                "thread out, or give the session of that thread"
            )
        if named is None and session.thread_id is not None:
            configurable = {**(config.get("configurable") or {}), "thread_id": session.thread_id}
            config = patch_config(config, configurable=configurable)
        state = {
            "messages": list(session.messages),
            RUN: dict(session.run),
            TURN: dict(session.turn),
            RULES: dict(session.rules),
        }
        return Progress(
            where=AgentRuntime(config, self._tools),
            agent=self._name,
            thread_id=session.thread_id,
            state=state,
            turns=session.turns,
            status=session.status,
            request=session.request,
            answers=list(session.answers),
            inner={call: dict(sessions) for call, sessions in session.inner.items()},
            trusted=session.trusted,
            told=len(session.messages),
        )

    # --- the user's words ---------------------------------------------------------------------

    def _begin(self, progress: Progress, words: Sequence[BaseMessage]) -> Steps[None]:
        """Close what is pending, and start a run."""
        run = self._runs.new_run(self._runs.context(progress.where), progress.where)
        progress.state["messages"] = [*progress.messages, *words]
        rebuilt = yield from supersede(progress.state, run, self._gate, _everything_open)
        # Calls among the new words are none that the model made: they run no more than what was left open.
        told = {**progress.state, TURN: {}, "messages": progress.messages if rebuilt is None else rebuilt}
        closed = yield from supersede(told, run, self._gate, _everything_open)
        rebuilt = rebuilt if closed is None else closed
        if progress.inner:
            left = list(request_ids_inside(progress.inner))
            yield lambda: self._gate.ledger.withdraw(left)
            progress.inner.clear()
        started = yield from self._runs.start_steps(progress.state, run)
        progress.state.update({**started, TURN: {}})
        if rebuilt is not None:
            progress.state["messages"] = rebuilt
        progress.turns, progress.status, progress.request = 0, "open", None
        progress.answers.clear()
        progress.told = len(progress.messages)

    # --- an answer ----------------------------------------------------------------------------

    def _answer(self, progress: Progress, answer: Any) -> Steps[None]:
        """Take an answer along to the question that waits; anything else changes nothing."""
        pending, thread = progress.request, progress.thread_id
        try:
            read: ApprovalAnswer | None = read_answer(answer, pending)
        except InvalidAnswerError as error:
            read = None
            if pending is None:
                progress.answer = AnswerResult("invalid", str(error))
                return
        wanted = None if read is None else read.request_id
        if pending is None or (wanted is not None and wanted != pending.request_id):
            progress.answer = yield from self._not_for_the_pending(progress, read)
            return
        claimed = yield lambda: self._gate.ledger.claim(pending.request_id)
        if claimed is True:
            progress.claimed = pending.request_id
        held = yield lambda: self._gate.ledger.answer_to(pending.request_id)
        if held is None and claimed is not True:
            progress.answer = AnswerResult("already_answered", f"request {pending.request_id} is being answered")
            return
        if held is not None:
            # What cannot be read, or names no request, takes nothing back.
            said = held if read is None or wanted is None else read
            progress.answer = yield from not_pending(self._gate, _named(said, pending.request_id), thread)
            return
        if read is not None and (told := (yield from barred(self._gate, _named(read, pending.request_id), pending))):
            progress.answer = AnswerResult("not_allowed", told)
            return
        progress.take(kept_answer(answer))

    def _not_for_the_pending(self, progress: Progress, read: ApprovalAnswer | None) -> Steps[AnswerResult]:
        if read is None or read.request_id is None:
            return AnswerResult("not_pending", "nothing is pending in this session")
        turn = TurnRecord.from_json(progress.state.get(TURN))
        known = turn is not None and any(call.request_id == read.request_id for call in turn.calls)
        if not known and progress.thread_id is None:
            return AnswerResult("not_pending", f"request {read.request_id} is not pending in this session")
        return (yield from not_pending(self._gate, read, progress.thread_id))

    def _go_on(self, progress: Progress) -> Steps[None]:
        """Go on without an answer: with the one on record, where the run that took it was lost."""
        if progress.request is None:
            progress.status = "open"
            return
        yield from take_what_is_on_record(self._gate, progress)


def _everything_open() -> LeftBehind:
    """Whatever has no result was left open: nothing of this conversation goes on elsewhere."""
    return LeftBehind(interrupted=True)


def _named(answer: ApprovalAnswer, request_id: str) -> ApprovalAnswer:
    """The answer with the id of its request."""
    return replace(answer, request_id=request_id)


def kept_answer(answer: Any) -> Any:
    """The answer in the form that a session keeps."""
    if isinstance(answer, ApprovalAnswer):
        return answer.to_json()
    try:
        check_plain(answer)
    except NotPlainJsonError:
        return None  # as unusable as what was given
    return answer


def _read(given: Any) -> dict[str, Any]:
    """What was given, by its parts.

    Raises:
        ConfigurationError: If it is nothing that an agent takes.
    """
    if not isinstance(given, Mapping):
        return {"messages": given}
    if unknown := sorted(set(map(str, given)) - _KEYS):
        raise ConfigurationError(
            f"the input names {', '.join(map(repr, unknown))}; a GatedAgent takes 'messages', 'session' and 'answer'"
        )
    return {name: value for name, value in given.items() if value is not None}


def words_alone(given: Any) -> list[BaseMessage]:
    """The new words in what an agent was given; none where it was given an answer.

    Raises:
        ConfigurationError: If it is nothing that an agent takes.
    """
    read = _read(given)
    return [] if "answer" in read else _messages(read.get("messages", ()))


def _messages(given: Any) -> list[BaseMessage]:
    if isinstance(given, str):
        return [HumanMessage(given)]
    if isinstance(given, PromptValue):
        return given.to_messages()
    if isinstance(given, BaseMessage):
        return [given]
    if not isinstance(given, Sequence):
        raise ConfigurationError(f"messages is {given!r}; it must be a text or a list of messages")
    return convert_to_messages(given)
