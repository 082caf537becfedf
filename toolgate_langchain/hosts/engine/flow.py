"""What an agent has read, labelled as it is read, for the argument policies that need to know it.

Labels are noted in the ledger under the conversation that a run belongs to, which subagents share, and the person's
own words with them. Results stay where they are: a note knows one by its digest, and what is not known is not trusted.
Where no policy asks for it nothing here is computed or noted.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from toolgate_langchain.errors import DataAboveZoneError
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.engine.read_history import (
    ELSEWHERE,
    RESULT,
    TASK,
    WORDS,
    came_along,
    class_of,
    classes_in,
    history_of,
    label_note,
    marks_of,
    messages_in,
    noted_history,
    worse,
)
from toolgate_langchain.hosts.engine.reading import message_digest, structure_of, texts_in, words_in_place
from toolgate_langchain.hosts.engine.refusal import withheld
from toolgate_langchain.policy.history import (
    CLASS_MARK,
    MAX_READ,
    UNLABELLED,
    UNTRUSTED_MARK,
    History,
    ResultLabel,
    label_of,
)
from toolgate_langchain.policy.reading import ReadingPolicy
from toolgate_langchain.vocabulary import DataClass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["Flow", "conversation_of"]

logger = logging.getLogger("toolgate_langchain")


def conversation_of(run: Run) -> str:
    """The key of the conversation that a run belongs to: the root's thread, or its run where it is on none."""
    root, around = run, current_run.get()
    while around is not None:
        root, around = around.run, around.outer
    return f"run:{root.id}" if root.thread_id is None else f"thread:{root.thread_id}"


class Flow:
    """Labels what is read, for one gate.

    Args:
        gate: The gate.
    """

    def __init__(self, gate: ToolGate) -> None:
        self._gate = gate
        self.on = gate.rulebook.needs_history or any(
            getattr(heuristic, "needs_history", False) is True for heuristic in gate.judge.heuristics
        )
        given: tuple[object, ...] = gate.rulebook.argument_policies
        policies = [policy for policy in given if isinstance(policy, ReadingPolicy)]
        declared = [getattr(policy, "history_class", None) for policy in policies]
        known = [one for one in declared if isinstance(one, DataClass)]
        self._history_class = max(known) if known and len(known) == len(declared) else None
        self._policies, self._holds = policies, any(not policy.observe for policy in policies)

    # --- a run starts -------------------------------------------------------------------------

    def begin(self, run: Run, messages: Sequence[BaseMessage], given: Sequence[BaseMessage]) -> Steps[None]:
        """Note what a run was started with, and what was read before it.

        Args:
            run: The run.
            messages: All messages in the state.
            given: Those that are the input to the root graph; none for a run inside of another.

        Raises:
            DataAboveZoneError: If more sensitive data was read in the conversation than the zone of the run's
                models may have.
        """
        conversation = conversation_of(run)
        known: Mapping[str, str] = yield lambda: self._gate.ledger.read_notes(conversation)
        new = {f"{WORDS}{message_digest(one)}": str(one.text)[:MAX_READ] for one in _said_now(given, known)}
        if run.start:
            # The task of an agent inside: what the model of the one around it wrote, which has read what is noted.
            # What the tool wrote itself may hold whatever it fetched.
            written = set(texts_in(None if (around := current_run.get()) is None else around.arguments))
            tasks = [one for one in messages if isinstance(one, HumanMessage) and str(one.text) in written]
            new |= {f"{TASK}{message_digest(one)}": "" for one in tasks}
        else:
            new |= noted_history(messages, known, self._history_class)
        history = history_of(messages, {**known, **new})
        yield from self._note(conversation, known, {**new, **marks_of(history)})
        zone, seen = run.context.zone, history.data_class
        if zone is None or seen is None or seen <= zone.ceiling:
            return
        why = (
            f"data of class {seen.value} was read in this conversation, above {zone.ceiling.value}, the ceiling of "
            f"zone {zone.value} in which a model of this run is"
        )
        if self._holds:
            way = "start a new conversation, or use a model in a zone that may have it"
            if self._history_class is None and came_along(messages, known):
                way = (
                    "a model's words and results that came with the input count as secret where nobody declared what "
                    "they can hold: let a checkpointer keep the conversation and send what is new, or declare it, as "
                    "in FlowPolicy(history=DataClass.BUSINESS)"
                )
            raise DataAboveZoneError(f"{why}; {way}")
        if self._policies:
            logger.warning("observed: the flow policy would not start the run: %s", why)

    # --- a turn is judged ---------------------------------------------------------------------

    def before(self, run: Run, messages: Iterable[BaseMessage], message: AIMessage) -> Steps[History]:
        """What was read before a turn, the message of the turn included.

        Args:
            run: The run.
            messages: The messages before the turn's own.
            message: The message that makes the calls.
        """
        conversation = conversation_of(run)
        notes: Mapping[str, str] = yield lambda: self._gate.ledger.read_notes(conversation)
        history = history_of([*messages, message], notes)
        # What a provider's tool brought, or another middleware put there; it stays read when it is gone.
        yield from self._note(conversation, notes, marks_of(history))
        return history

    def _note(self, conversation: str, known: Mapping[str, str], notes: Mapping[str, str]) -> Steps[None]:
        """Note what is not noted yet."""
        if fresh := {key: value for key, value in notes.items() if key not in known}:
            yield lambda: self._gate.ledger.note_read(conversation, fresh)

    def again(self, attempt: Attempt) -> Steps[History]:
        """What had been read when a call was judged, for its last check.

        What calls beside it read meanwhile is left out: the model had not seen it when it made this one.
        """
        conversation = conversation_of(attempt.run)
        notes: Mapping[str, str] = yield lambda: self._gate.ledger.read_notes(conversation)
        turn = attempt.turn
        if turn is not None and turn.read is not None:
            kept = (RESULT, WORDS, TASK, ELSEWHERE)
            notes = {**{key: value for key, value in notes.items() if key.startswith(kept)}, **turn.read}
        place = _place(attempt.state["messages"])
        return history_of(attempt.state["messages"][: place + 1], notes)

    # --- a result is read ---------------------------------------------------------------------

    def label(self, attempt: Attempt, result: Any) -> Steps[Any]:
        """Label the result of a call, before the model reads it.

        Args:
            attempt: The call.
            result: What goes to the model: a tool message, a command, or a list of them.

        Returns:
            The result, or what takes its place where the zone of the run's models may not have it.
        """
        entry, run = attempt.entry, attempt.run
        messages = list(messages_in(result))
        notes: dict[str, str] = {}
        worst = UNLABELLED if entry is None else label_of(entry.profile)
        whole = bool(messages) and isinstance(result, ToolMessage)
        for message in messages:
            label = self._label_of(entry, message)
            notes[f"{RESULT}{message_digest(message)}"] = label_note(message.name or attempt.call["name"], label)
            worst = worse(worst, label) if not whole else label
        # A command may write more than messages, and what else it writes is as its tool's results are.
        if not worst.trusted:
            notes[UNTRUSTED_MARK] = f"the result of {attempt.call['name']}"
        conversation, zone = conversation_of(run), run.context.zone
        if zone is not None:
            # Also what an agent inside of the call read, whose words the result may hold.
            read: Mapping[str, str] = yield lambda: self._gate.ledger.read_notes(conversation)
            seen = max([class_of(worst), *classes_in(read)])
            if seen > zone.ceiling and self._policies:
                logger.warning(
                    "the result of %r is withheld: it is %s, above zone %s",
                    attempt.call["name"],
                    seen.value,
                    zone.value,
                )
                if self._holds:
                    return withheld(attempt.call)
        notes[f"{CLASS_MARK}{class_of(worst).value}"] = ""
        yield lambda: self._gate.ledger.note_read(conversation, notes)
        return result

    def _label_of(self, entry: CatalogEntry | None, message: ToolMessage) -> ResultLabel:
        declared = UNLABELLED if entry is None else label_of(entry.profile)
        for policy in self._policies:
            declared = policy.label_result(message.name or "", str(message.text), structure_of(message), declared)
        return declared

    def note_response(self, run: Run, message: ToolMessage) -> Steps[None]:
        """Note that a person wrote a result: those are their own words."""
        if words_in_place(message):
            note = {f"{WORDS}{message_digest(message)}": str(message.text)[:MAX_READ]}
            yield partial(self._gate.ledger.note_read, conversation_of(run), note)


def _said_now(given: Sequence[BaseMessage], known: Mapping[str, str]) -> Sequence[BaseMessage]:
    """Those messages of the input that the person can be known to have written.

    In a conversation that is known a run may have stopped before its model answered, behind a summary or a message of
    a tool in the person's name. Nothing tells these from the input but that the input stands last.
    """
    return given[-1:] if known else given


def _place(messages: Sequence[BaseMessage]) -> int:
    """Where the model's last message is."""
    return max((place for place, one in enumerate(messages) if isinstance(one, AIMessage)), default=-1)
