"""A turn of the model: judged as a whole when it arrives, then asked about, one call at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Send, interrupt

from toolgate_langchain.approvals.turn import Run, TurnRecord, raw_digest
from toolgate_langchain.hosts.engine.base_turns import BaseTurns
from toolgate_langchain.hosts.engine.calls import answered_after, in_order, last_ai_message, with_refused_invalid_calls
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.engine.run_state import TURN
from toolgate_langchain.hosts.engine.unseen import tell_refused_early, tell_unreadable
from toolgate_langchain.hosts.langgraph.carrying import Carrier
from toolgate_langchain.hosts.langgraph.structured import structured_output_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langgraph.runtime import Runtime

    from toolgate_langchain.approvals.steps import Steps

__all__ = ["Turns"]

_MAX_UNREADABLE_MESSAGES: Final = 6
"""Messages of replies whose only calls cannot be parsed, with their error results, after which the
turn ends as it is: three replies of one call each."""


class Turns(BaseTurns):
    """Judges and asks for one agent.

    Args:
        runs: The agent's runs.
    """

    pauses = (GraphInterrupt,)

    def nothing_to_judge(self, request: ModelRequest[Any], answer: ModelResponse[Any], run: Run) -> bool:
        """Whether a turn makes no calls, or only readable ones that nobody can have to be asked about.

        Most turns are such. Their calls are judged where they run.

        Args:
            request: The model request.
            answer: What the model said.
            run: The run, as it was before the model was called.
        """
        message = answer.result[-1] if len(answer.result) == 1 else None
        if not isinstance(message, AIMessage):
            return False
        if not message.tool_calls:
            return not message.invalid_tool_calls
        if not in_order(message, request.state["messages"]):
            return False
        return self._nobody_is_asked(message.tool_calls, self._runs.still(run, request.state, request.runtime))

    def judge_steps(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Any],
        answer: ModelResponse[Any],
        *,
        jump: bool,
    ) -> Steps[ModelResponse[Any] | ExtendedModelResponse[Any]]:
        """Judge a turn of the model as a whole.

        Args:
            request: The model request.
            handler: Calls the model, for a turn whose calls cannot be read.
            answer: What the model said.
            jump: Whether a turn that needs a person leaves the loop, to be asked about there.
        """
        before: list[Any] = []
        run = self._runs.run_of(request.state, request.runtime)
        answer, message = self._readable(request, answer)
        while message is not None and message.invalid_tool_calls and not message.tool_calls:
            # Without this the agent would take a turn of unreadable calls for its final answer.
            told = with_refused_invalid_calls(message)
            yield from tell_unreadable(self._gate, run, told[0])  # type: ignore[arg-type]  # the message itself
            before += told
            if len(before) >= _MAX_UNREADABLE_MESSAGES:
                return ModelResponse(result=before, structured_response=answer.structured_response)
            request = request.override(messages=[*request.messages, *told])  # type: ignore[list-item]
            answer = yield partial(handler, request)
            answer, message = self._readable(request, answer)
        if message is None or not message.tool_calls:
            return _with_before(answer, before)
        yield from tell_unreadable(self._gate, run, message)
        judged = yield from self._judge_message(request, answer, message, jump=jump)
        if isinstance(judged, ExtendedModelResponse):
            return ExtendedModelResponse(_with_before(judged.model_response, before), judged.command)
        return _with_before(judged, before)

    def _readable(
        self, request: ModelRequest[Any], answer: ModelResponse[Any]
    ) -> tuple[ModelResponse[Any], AIMessage | None]:
        """The model's answer with ids that can be told apart and calls that can be kept, and its last message."""
        message = last_ai_message(answer.result)
        if message is None or not message.tool_calls:
            return answer, message
        told = self._readable_message(message, request.state["messages"])
        if len(told) == 1 and told[0] is message:
            return answer, message
        result = [new for one in answer.result for new in (told if one is message else [one])]
        return ModelResponse(result=result, structured_response=answer.structured_response), last_ai_message(result)

    def _judge_message(
        self, request: ModelRequest[Any], answer: ModelResponse[Any], message: AIMessage, *, jump: bool
    ) -> Steps[ModelResponse[Any] | ExtendedModelResponse[Any]]:
        calls = self._calls_to_judge(message, answer.result, request.response_format)
        if not calls:
            return answer
        entries = self._entries(calls)
        if None in entries:
            # A reply from a cache in between: what is offered was not worked out in this process yet.
            self._runs.meet_all([tool for tool in request.tools if not isinstance(tool, dict)])
            entries = self._entries(calls)
        run = self._runs.run_of(request.state, request.runtime)
        if self._judged_where_they_run(entries, run):
            return answer
        turn = yield from self._judge_calls(run, message, calls, request.state, request.messages)
        if turn is None:
            return answer
        if refusals := self._refused_early(turn, ()):
            yield from tell_refused_early(self._gate, run, message, turn, refusals)
            answer = ModelResponse(result=[*answer.result, *refusals], structured_response=answer.structured_response)
        update: dict[str, Any] = {TURN: turn.to_json()}
        if jump and not turn.settled:
            update["jump_to"] = "end"
        return ExtendedModelResponse(answer, Command(update=update))

    @staticmethod
    def _calls_to_judge(message: AIMessage, result: Sequence[BaseMessage], response_format: Any) -> list[ToolCall]:
        """The tool calls of a message without the pseudo-calls that carry structured output."""
        pseudo = structured_output_names(response_format)
        answered = {one.tool_call_id for one in result if isinstance(one, ToolMessage)}
        return [call for call in message.tool_calls if call["name"] not in pseudo and call["id"] not in answered]

    # --- asking -------------------------------------------------------------------------------

    def nothing_to_ask(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> bool:
        """Whether no verdict is saved and no call of the last message could need a person, as in most turns."""
        message = state["messages"][-1] if state["messages"] else None
        if state.get(TURN) or not isinstance(message, AIMessage):
            return False
        if not message.tool_calls:
            return True
        return self._judged_where_they_run(self._entries(message.tool_calls), self._runs.run_of(state, runtime))

    def ask_steps(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Steps[dict[str, Any] | None]:
        """Ask about the calls of the turn that need a person, one at a time."""
        message = last_ai_message(state["messages"])
        if message is None or not message.tool_calls:
            return None
        saved = state.get(TURN)
        turn = TurnRecord.from_json(saved) if saved else None
        run = self._runs.run_of(state, runtime)
        if turn is not None and turn.message_id != message.id:
            turn = None
        if turn is not None and turn.settled and all(_unchanged(turn, call) for call in message.tool_calls):
            return None
        answered = answered_after(state["messages"], message)
        open_calls = [call for call in message.tool_calls if call["id"] not in answered]
        late = [call for call in open_calls if turn is None or not _unchanged(turn, call)]
        if late:
            turn = yield from self._judge_late(state, run, message, late, turn)
        if turn is None or turn.settled:
            return None
        carrier = Carrier(self._gate.ledger)
        asking = carrier.asking(interrupt)
        try:
            return (yield from self._ask_all(run, turn, message, state, answered, asking, carrier))
        except GraphInterrupt as pause:
            # The tool that the agent runs in, if any, knows of the pause.
            if (parent := current_run.get()) is not None:
                parent.note_pause(pause)
            raise

    def ask_and_go_on_steps(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Steps[Any]:
        """Ask about a turn that left the loop, and send its calls to the tools; nothing where the run is at its end."""
        message = last_ai_message(state["messages"])
        turn = TurnRecord.from_json(state[TURN]) if state.get(TURN) else None
        if message is None or turn is None or turn.message_id != message.id:
            return None
        answered = answered_after(state["messages"], message)
        if all(call["id"] in answered for call in message.tool_calls) or _has_new_words(state["messages"], message):
            return None
        update = (yield from self.ask_steps(state, runtime)) or {}
        answered |= {refusal.tool_call_id for refusal in update.get("messages", ())}
        left = [call for call in message.tool_calls if call["id"] not in answered]
        if left:
            return Command(update=update, goto=[Send("tools", [call]) for call in left])
        # As after any turn of the model: what it gave as structured output is its last word.
        return update if state.get("structured_response") is not None else {**update, "jump_to": "model"}

    def _judge_late(
        self,
        state: Mapping[str, Any],
        run: Run,
        message: AIMessage,
        late: Sequence[ToolCall],
        turn: TurnRecord | None,
    ) -> Steps[TurnRecord | None]:
        """Judge calls that have no saved verdict, as after another middleware replaced the message."""
        known = [call for call in late if self._runs.find(call["name"]) is not None]
        if self._judged_where_they_run(self._entries(known), run):
            return turn
        index, said = yield from self._runs.rules.look(state, run)
        joins = "" if turn is None else turn.turn_id
        history = yield from self._history(run, state, message)
        judged = yield from self._gate.judge.judge(
            run, str(message.id), known, self._runs.find, index, late=True, joins=joins, said=said, history=history
        )
        if judged is None or judged.settled:
            # None of them needs to be asked about; they are judged once more where they run.
            return turn
        if turn is None:
            return judged
        # Nobody is asked about a call that is no longer there.
        kept = {call["id"] for call in message.tool_calls} - {call.call_id for call in judged.calls}
        turn.calls = [call for call in turn.calls if call.call_id in kept] + judged.calls
        turn.settled = False
        return turn


def _has_new_words(messages: Sequence[BaseMessage], message: AIMessage) -> bool:
    """Whether the user wrote something after a turn, which is then closed when a run starts."""
    after = messages[next(place for place, one in enumerate(messages) if one is message) + 1 :]
    return any(isinstance(one, HumanMessage) for one in after)


def _unchanged(turn: TurnRecord, call: ToolCall) -> bool:
    """Whether a call is still the one that was judged."""
    record = turn.call(call["id"])
    return record is not None and record.raw == raw_digest(call)


def _with_before(answer: ModelResponse[Any], before: Sequence[BaseMessage]) -> ModelResponse[Any]:
    if not before:
        return answer
    return ModelResponse(result=[*before, *answer.result], structured_response=answer.structured_response)
