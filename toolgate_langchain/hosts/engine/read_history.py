"""From messages and the notes of a ledger to a history: what was read, each part with its label.

A note knows a message by its digest. What no note is about is not trusted, and counts as secret.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from toolgate_langchain.hosts.engine.reading import from_the_gate, message_digest, server_side, structure_of
from toolgate_langchain.policy.history import CLASS_MARK, UNTRUSTED_MARK, History, ReadResult, ResultLabel
from toolgate_langchain.vocabulary import DataClass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "ELSEWHERE",
    "RESULT",
    "TASK",
    "WORDS",
    "came_along",
    "class_of",
    "classes_in",
    "history_of",
    "label_note",
    "marks_of",
    "messages_in",
    "noted_history",
    "worse",
]

WORDS: Final = "words:"
RESULT: Final = "result:"
TASK: Final = "task:"
ELSEWHERE: Final = "elsewhere:"
"""A result that came with the input and that this gate had not labelled, with the class that its operator declared."""


def history_of(messages: Sequence[BaseMessage], notes: Mapping[str, str]) -> History:
    """A conversation up to a turn.

    Args:
        messages: Its messages.
        notes: What the ledger has on it.
    """
    # Also those of messages that are gone by now, or that only an agent around this one has.
    words = [text for key, text in notes.items() if key.startswith(WORDS)]
    results: list[ReadResult] = []
    others: list[tuple[str, str]] = []
    classes = classes_in(notes)
    calls: dict[str, Mapping[str, Any]] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            calls.update({str(call["id"]): call["args"] for call in message.tool_calls})
            if brought := server_side(message):
                others.append(("a tool that the model's provider ran", brought))
        elif isinstance(message, ToolMessage):
            key = message_digest(message)
            if (read := _label_in(notes.get(f"{RESULT}{key}"))) is not None:
                tool, label = read
                arguments = calls.get(message.tool_call_id, {})
                if message.status == "error":
                    # What went wrong is told in words that repeat the call; it vouches for nothing.
                    label = replace(label, trusted_fields=frozenset())
                    if label.trusted:
                        continue
                results.append(ReadResult(tool, str(message.text), structure_of(message), arguments, label))
            elif not from_the_gate(message):
                others.append((f"a result of {message.name or 'a tool'} without a label", str(message.text)))
                classes.append(_known_class(notes.get(f"{ELSEWHERE}{key}")))
        elif not isinstance(message, SystemMessage) and not any(
            f"{kind}{message_digest(message)}" in notes for kind in (WORDS, TASK)
        ):
            others.append(("a message that is not the person's input", str(message.text)))
    classes += [class_of(one.label) for one in results]
    untrusted = UNTRUSTED_MARK in notes or bool(others) or any(not one.label.trusted for one in results)
    return History(tuple(words), tuple(results), tuple(others), untrusted, max(classes, default=None))


def noted_history(
    messages: Sequence[BaseMessage], known: Mapping[str, str], declared: DataClass | None
) -> dict[str, str]:
    """What is to be noted of history that came with the input: that it is not trusted, and what it can hold.

    Args:
        messages: The messages that a run starts with.
        known: What the ledger has on the conversation.
        declared: The class that its operator declared for such history; undeclared counts as secret.
    """
    new: dict[str, str] = {}
    if _unknown_model(messages, known):
        new[UNTRUSTED_MARK] = "history from elsewhere"
        # Nobody knows what its model had read to say what it says.
        new[f"{CLASS_MARK}{(DataClass.SECRET if declared is None else declared).value}"] = ""
    if declared is not None:
        new |= {f"{ELSEWHERE}{message_digest(one)}": declared.value for one in _unlabelled(messages, known)}
    return new


def came_along(messages: Sequence[BaseMessage], known: Mapping[str, str]) -> bool:
    """Whether a model's words or results came with the input, of which nobody knows what had been read.

    Args:
        messages: The messages that a run starts with.
        known: What the ledger has on the conversation.
    """
    return _unknown_model(messages, known) or any(True for _ in _unlabelled(messages, known))


def _unknown_model(messages: Sequence[BaseMessage], known: Mapping[str, str]) -> bool:
    return not known and any(isinstance(one, AIMessage) for one in messages)


def _unlabelled(messages: Sequence[BaseMessage], known: Mapping[str, str]) -> Iterator[ToolMessage]:
    for one in messages:
        if isinstance(one, ToolMessage) and not from_the_gate(one) and f"{RESULT}{message_digest(one)}" not in known:
            yield one


def marks_of(history: History) -> dict[str, str]:
    """The notes on how bad a history is, with where that comes from."""
    marks = history.marks()
    if UNTRUSTED_MARK in marks and history.others:
        marks[UNTRUSTED_MARK] = history.others[0][0]
    return marks


def messages_in(result: Any) -> Iterator[ToolMessage]:
    """The tool messages in what a call gave."""
    if isinstance(result, ToolMessage):
        yield result
    elif isinstance(result, list):
        for one in result:
            yield from messages_in(one)
    else:
        update = getattr(result, "update", None)
        said = update.get("messages", ()) if isinstance(update, dict) else ()
        yield from (one for one in (said if isinstance(said, list) else [said]) if isinstance(one, ToolMessage))


def classes_in(notes: Mapping[str, str]) -> list[DataClass]:
    """The classes of what was read, as they were noted."""
    return [DataClass(key.removeprefix(CLASS_MARK)) for key in notes if key.startswith(CLASS_MARK)]


def class_of(label: ResultLabel) -> DataClass:
    """How sensitive a result is; what nobody declared counts as secret."""
    return DataClass.SECRET if label.data_class is None else label.data_class


def worse(one: ResultLabel, other: ResultLabel) -> ResultLabel:
    """One label for two results: what is true of both."""
    return ResultLabel(one.trusted and other.trusted, frozenset(), max(class_of(one), class_of(other)))


def label_note(tool: str, label: ResultLabel) -> str:
    """A label as it is noted.

    Args:
        tool: The tool whose result it is.
        label: The label.
    """
    plain = {
        "tool": tool,
        "trusted": label.trusted,
        "fields": sorted(label.trusted_fields),
        "class": None if label.data_class is None else label.data_class.value,
    }
    return json.dumps(plain)


def _known_class(note: str | None) -> DataClass:
    """A class as it was noted; what cannot be read is secret."""
    return next((one for one in DataClass if one.value == note), DataClass.SECRET)


def _label_in(note: str | None) -> tuple[str, ResultLabel] | None:
    """A label as it was noted; what cannot be read is no label."""
    if note is None:
        return None
    try:
        plain = json.loads(note)
        known = None if plain["class"] is None else DataClass(plain["class"])
        return str(plain["tool"]), ResultLabel(plain["trusted"] is True, frozenset(plain["fields"]), known)
    except (ValueError, KeyError, TypeError):
        return None
