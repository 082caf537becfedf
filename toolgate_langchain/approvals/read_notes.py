"""The ledger's part for what was read in a conversation: labels that only ever get worse.

A checkpoint can be forked and restored, messages can be summarised away, and a subagent has a state of its own.
What was read stays read all the same, so it is noted outside of all of them, once for a whole conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from toolgate_langchain.approvals.ledger import Maybe

__all__ = ["ReadNotes", "ReadNotesInMemory"]


class ReadNotes(Protocol):
    """What a ledger does for flow. A part of `Ledger`; see there for what may be awaited.

    Used only where an argument policy needs to know what was read (`FlowPolicy`).
    """

    def note_read(self, conversation: str, notes: Mapping[str, str]) -> Maybe[None]:
        """Keep notes on a conversation. What is noted once stays as it is.

        Args:
            conversation: The conversation, the same for its subagents.
            notes: The notes by their keys.
        """
        ...

    def read_notes(self, conversation: str) -> Maybe[Mapping[str, str]]:
        """All notes on a conversation, by their keys."""
        ...


class ReadNotesInMemory:
    """What `InMemoryLedger` keeps of what was read. A part of it, which shares its lock."""

    _lock: threading.RLock
    _read_notes: dict[str, dict[str, str]]

    def note_read(self, conversation: str, notes: Mapping[str, str]) -> None:
        """See `ReadNotes.note_read`."""
        with self._lock:
            known = self._read_notes.get(conversation, {})
            # A new mapping each time: whoever reads the old one meanwhile reads it whole.
            self._read_notes[conversation] = {**notes, **known}

    def read_notes(self, conversation: str) -> Mapping[str, str]:
        """See `ReadNotes.read_notes`."""
        return self._read_notes.get(conversation, {})
