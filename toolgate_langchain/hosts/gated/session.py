"""`ApprovalSession`: all that is needed to go on with a conversation of a `GatedAgent`, as plain JSON.

Where it leaves the server it is signed with the caller's key: whoever holds an unsigned one can put
an approval, a rule or another caller into it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from langchain_core.messages import BaseMessage, messages_from_dict
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass
from pydantic_core import PydanticSerializationError

from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.errors import ConfigurationError, NotPlainJsonError, SessionError

__all__ = ["ApprovalSession", "Status", "check_keys"]

_KIND: Final = "toolgate:session"
_FORMAT: Final = 1
_SHORTEST_KEY: Final = 16
"""Bytes of a key. NIST SP 800-107 wants at least 112 bits of a key for HMAC."""

Status = Literal["waiting", "open", "done"]
"""`waiting`: a person is asked. `done`: the run ended. `open`: it can go on, as after a limit or a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSession:
    """A conversation of a `GatedAgent` between two of its steps; resuming it changes a copy.

    It carries the conversation, the run (surface, caller, configuration), verdicts, answers and
    standing rules. It carries no key, no config and nothing of model or tools.
    """

    agent: str
    """The name of the agent that it belongs to."""

    thread_id: str | None = None
    messages: tuple[BaseMessage, ...] = ()
    status: Status = "open"
    request: ApprovalRequest | None = None
    """What a person is asked, where it waits."""

    turns: int = 0
    """Turns of the model since the run began; a resume does not start the count again."""

    run: Mapping[str, Any] = field(default_factory=dict)
    turn: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[Any, ...] = ()
    """Answers of the turn that is still being asked about, in the order in which they came."""

    inner: Mapping[str, Any] = field(default_factory=dict)
    """The conversations of agents that wait inside of the open calls' tools, by call, in their JSON form."""

    trusted: bool = field(default=True, compare=False, repr=False)
    """Whether it was made in this process or its signature was checked; not part of the JSON form."""

    def to_json(self, key: bytes | None = None) -> dict[str, Any]:
        """The plain JSON form.

        A tool message's artifact that JSON cannot carry is left out; everything else is kept.

        Args:
            key: Signs it (HMAC-SHA256 over the canonical JSON). Leave it out only where the session
                stays where nobody else can write.

        Raises:
            NotPlainJsonError: If a message holds text that JSON cannot carry.
            ConfigurationError: If the key is too short.
        """
        plain: dict[str, Any] = {
            "kind": _KIND,
            "v": _FORMAT,
            "agent": self.agent,
            "thread_id": self.thread_id,
            "messages": [_written(message) for message in self.messages],
            "status": self.status,
            "request": None if self.request is None else self.request.to_interrupt(),
            "turns": self.turns,
            "run": dict(self.run),
            "turn": dict(self.turn),
            "rules": dict(self.rules),
            "answers": list(self.answers),
            "inner": dict(self.inner),
        }
        if key is not None:
            check_keys([key])
            plain["signature"] = _signature(plain, key)
        else:
            canonical_json(plain)
        return plain

    @classmethod
    def from_json(cls, value: Any, keys: Sequence[bytes] = ()) -> ApprovalSession:
        """Read a session back, in this process or another.

        Args:
            value: What `to_json` gave, as an object or as JSON text.
            keys: Keys that it may be signed with; several while an old one is being replaced.

        Raises:
            SessionError: If it is no session, altered, unsigned, signed with another key, or newer
                than this version; the message says what to do.
            ConfigurationError: If a key is too short.
        """
        check_keys(keys)
        if isinstance(value, str | bytes | bytearray):
            value = _parsed(value)
        if not isinstance(value, Mapping) or value.get("kind") != _KIND:
            raise SessionError("this is not a session: give what ApprovalSession.to_json() returned, as an object")
        version = value.get("v")
        if type(version) is int and version > _FORMAT:
            raise SessionError(
                f"the session has format {version} and was written by a newer version of toolgate-langchain; this "
                f"one reads format {_FORMAT}: update the package here, or start the conversation anew"
            )
        if type(version) is not int or version != _FORMAT:
            raise SessionError(f"the session has format {version!r}; this version reads format {_FORMAT}")
        _check_signature(value, keys)
        try:
            saved = _Saved(**{str(name): item for name, item in value.items() if name != "signature"})
            request = None if saved.request is None else _request(saved.request)
            messages = tuple(messages_from_dict(saved.messages))
            for inside in (one for sessions in saved.inner.values() for one in sessions.values()):
                cls.from_json(inside)
        except Exception as error:  # whatever LangChain's own reading of odd messages raises
            raise SessionError(f"the session cannot be read, so nothing of it is used: {_first_line(error)}") from error
        return cls(
            agent=saved.agent,
            thread_id=saved.thread_id,
            messages=messages,
            status=saved.status,
            request=request,
            turns=saved.turns,
            run=saved.run,
            turn=saved.turn,
            rules=saved.rules,
            answers=tuple(saved.answers),
            inner=saved.inner,
            trusted=bool(keys),
        )


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class _Saved:
    """The JSON form without its signature."""

    kind: Literal["toolgate:session"]
    v: int
    agent: str
    thread_id: str | None
    messages: list[dict[str, Any]]
    status: Status
    request: dict[str, Any] | None
    turns: Annotated[int, Field(ge=0)]
    run: dict[str, Any]
    turn: dict[str, Any]
    rules: dict[str, Any]
    answers: list[Any]
    inner: dict[str, dict[str, dict[str, Any]]] = Field(default_factory=dict)


def check_keys(keys: Sequence[bytes]) -> None:
    """Refuse keys that are no bytes or too short to keep anybody from guessing them.

    Raises:
        ConfigurationError: Naming what is allowed.
    """
    if isinstance(keys, bytes | str) or not isinstance(keys, Sequence):
        raise ConfigurationError("keys must be a list of bytes, the first of which signs")
    for key in keys:
        if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
            raise ConfigurationError(
                f"a session's key must be at least {_SHORTEST_KEY} random bytes, as secrets.token_bytes(32) gives"
            )


def _parsed(text: str | bytes | bytearray) -> Any:
    """What a session's JSON text holds.

    Raises:
        SessionError: If it is no JSON, or names one thing twice, of which another reader may take the other.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            raise ValueError("a name stands twice in one object")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise SessionError(f"the session is no JSON text that can be read: {_first_line(error)}") from error


def _check_signature(value: Mapping[str, Any], keys: Sequence[bytes]) -> None:
    """Refuse a session that none of the keys signed.

    Raises:
        SessionError: Saying what to do.
    """
    given = value.get("signature")
    if given is None:
        if keys:
            raise SessionError(
                "the session is not signed, and a key is configured: write it with to_json(key=...), and accept no "
                "session that was written without one"
            )
        return
    if not keys:
        raise SessionError("the session is signed, and no key was given to check it with: pass keys=[...]")
    plain = {name: item for name, item in value.items() if name != "signature"}
    try:
        fits = [isinstance(given, str) and _same(given, _signature(plain, key)) for key in keys]
    except NotPlainJsonError as error:
        raise SessionError(f"the session cannot be read: {error}") from error
    if not any(fits):
        raise SessionError(
            "the session was altered, or signed with a key that was not given: use it as it was written (as text, so "
            "that no number is rewritten), and keep the old key in keys=[...] while sessions signed with it are about"
        )


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def _signature(plain: Mapping[str, Any], key: bytes) -> str:
    return hmac.new(key, f"{_KIND}:{_FORMAT}\n{canonical_json(plain)}".encode(), hashlib.sha256).hexdigest()


def _request(saved: Mapping[str, Any]) -> ApprovalRequest:
    """The request of a session, if its names are what they should be.

    Raises:
        TypeError: Naming a field that is no text.
    """
    request = ApprovalRequest.from_interrupt(saved)
    for name in ("request_id", "digest", "tool_call_id", "tool_name", "origin", "tier", "surface", "reason"):
        if not isinstance(getattr(request, name), str):
            raise TypeError(f"{name} of its request is {getattr(request, name)!r}")
    return request


def _written(message: BaseMessage) -> dict[str, Any]:
    """A message as plain JSON, in the form that LangChain reads back."""
    try:
        data = message.model_dump(mode="json", fallback=_nothing)
    except (PydanticSerializationError, UnicodeDecodeError):
        # Bytes that are no text, in an artifact: it is for the program, and no part of the conversation.
        try:
            data = message.model_copy(update={"artifact": None}).model_dump(mode="json", fallback=_nothing)
        except (PydanticSerializationError, UnicodeDecodeError) as error:
            raise NotPlainJsonError(f"a message cannot be written as JSON: {_first_line(error)}") from error
    return {"type": message.type, "data": data}


def _nothing(_: object) -> None:
    """What stands for an object that JSON cannot carry."""


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
