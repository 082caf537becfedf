"""Whole stories that seldom come about by themselves: what a person thinks better of, what a worker leaves behind."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    rule,
)  # fmt: skip

from tests.ledger.people import People
from tests.ledger.told import THREADS

NOES = st.lists(st.sampled_from(["reject", "reject", "reject", "edit"]), min_size=3, max_size=4)


class Stories(People):
    """People, in whose lives these come up among all else."""

    @rule(
        number=st.integers(0, 1),
        thread=st.sampled_from(["one", "three"]),
        remember=st.fixed_dictionaries(
            {
                "what": st.sampled_from(["arguments", "tool"]),
                "scope": st.sampled_from(["user", "thread", "run"]),
                "expires_in": st.sampled_from([None, 3600]),
            }
        ),
        then=st.sampled_from(["no here", "no there", "revoked", "revoked at the end", "nothing"]),
        again=st.sampled_from(["one", "two", "three"]),
    )
    def always_and_then(self, number: int, thread: str, remember: Any, then: str, again: str) -> None:
        """A person says always, and perhaps thinks better of it before the next question of the turn is answered."""
        self.write(thread, number, [[("save", 1), ("send", 2), ("save", 1)]])
        first = self.reply(thread, number, "approve", remember)
        if then.startswith("no") and first is not None and self.on(thread):
            self.say_no(thread, 1 - number, first.request_id, here=then == "no here")
        said = next((one for one in self.told.said_so if first and one.request_id == first.request_id), None)
        gate = self.worker(number, thread).gate
        if then == "revoked" and said is not None and gate.revoke(said.request_id):
            self.told.revoked(said)
        while self.reply(thread, 1 - number, "approve") is not None:
            pass
        if then == "revoked at the end" and said in self.told.said_so and said is not None:
            assert gate.revoke(said.request_id)
            self.told.revoked(said)
        self.write(again, number, [[("save", 1)]])

    def say_no(self, thread: str, number: int, request_id: str, *, here: bool) -> None:
        """A no to a question that was answered: where the next one waits, or sent to the gate."""
        given = {"type": "reject", "request_id": request_id}
        if here:
            self.drive(number, thread, lambda chat: chat.resume(given), None)
            taken_back = any("was taken back" in request.error for request in self.on(thread))
        else:
            became = self.drive(number, thread, lambda chat: chat.gate.answer(chat.agent, chat.config, given), None)
            taken_back = became.status == "withdrawn"
        if taken_back:
            self.told.taken_back(self.seen[request_id][1])

    @rule(number=st.integers(0, 1), thread=st.sampled_from([*THREADS]), kinds=NOES, order=st.permutations([1, 2, 4]))
    def no_and_no_again(self, number: int, thread: str, kinds: list[str], order: list[int]) -> None:
        """The model tries one thing after the other in one run, and a person has none of it."""
        self.write(thread, number, [[("save", n)] for n in [*order, order[0], 5]])
        for kind in kinds:
            self.reply(thread, number, kind)

    @rule(
        number=st.integers(0, 1),
        kind=st.sampled_from(["approve", "reject"]),
        ends=st.tuples(st.sampled_from([None, 3600, 7200]), st.sampled_from([None, 3600, 7200])),
    )
    def twice_the_same_for_good(self, number: int, kind: str, ends: tuple[int | None, int | None]) -> None:
        """One user settles the same in two conversations, for a time or for ever."""
        for thread in ("one", "two"):
            self.write(thread, number, [[("save", 1)]])
        for thread, expires_in in zip(("one", "two"), ends, strict=True):
            self.reply(thread, number, kind, {"what": "arguments", "scope": "user", "expires_in": expires_in})

    @rule(number=st.integers(0, 1), thread=st.sampled_from([*THREADS]))
    def approved_and_left(self, number: int, thread: str) -> None:
        """A worker stops between the approval and the deed; the user writes something else; a backup is restored."""
        self.write(thread, number, [[("send", 7)]])
        talk = self.worker(number, thread)
        talk.agent.interrupt_before_nodes = ["tools"]
        self.reply(thread, number, "approve")
        talk.agent.interrupt_before_nodes = []
        before = self.snapshots(talk)[:1]
        self.write(thread, 1 - number, [])
        for last in before:
            self.go_back(talk, thread, last)
