"""Queue, ledger and rules together, on every kind of ledger, beside a small model of what people were told.

Two workers drive the conversations of two users. What runs is seen inside of the tools, so that no shortcut of the gate
is left out. The model of the gate is `told.py`: what a person said, and what they were told became of it.
"""

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from datetime import timedelta
from itertools import count
from typing import Annotated, Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)  # fmt: skip
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from tests.ledger.mortal import Crash, InTurn, Mortal
from tests.ledger.told import THREADS, Told
from tests.support import Chat, Clock, ScriptedModel, call, says, with_profile
from toolgate_langchain import (
    ApprovalRequest,
    Caller,
    StandingRule,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
)  # fmt: skip
from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.policy.decide import REJECTIONS_PER_TOOL

TIERS = {"send": Tier.CONSEQUENTIAL, "save": Tier.ROUTINE, "read": Tier.READ_ONLY}
LEASE_IS_OVER = timedelta(minutes=6)

CALLS = st.tuples(st.sampled_from(["save", "save", "save", "send", "read"]), st.sampled_from([1, 1, 1, 2]))
TURNS = st.lists(st.lists(CALLS, min_size=1, max_size=3), min_size=1, max_size=2)
SCOPES = st.sampled_from(["user", "user", "user", "user", "thread", "run"])
REMEMBER = st.none() | st.fixed_dictionaries(
    {
        "what": st.sampled_from(["arguments", "arguments", "tool"]),
        "scope": SCOPES,
        "expires_in": st.sampled_from([None, 3600]),
    }
)
ANSWERS = st.fixed_dictionaries(
    {
        "type": st.sampled_from([*["approve"] * 5, "reject", "reject", "edit", "respond"]),
        "n": st.integers(1, 2),
        "remember": REMEMBER,
        "insists": st.booleans(),
    }
)
"""`insists`: whether also what was not offered is to be remembered."""
STOPS = st.integers(0, 9).map(lambda number: number == 9)
MEANWHILE = st.sampled_from([*["nothing"] * 5, "an hour", "an hour", "restart", "tighten or loosen"])
DIES = st.none() | st.none() | st.tuples(st.integers(1, 25), st.booleans())
"""Not at all, or with the so-maniest word to the ledger, before or after it was heard."""
MEETS = st.none() | st.tuples(st.integers(1, 30), st.booleans())
"""Before which of its words to the ledger another worker comes in between, if one does, and whether with the same
answer or with a no."""


class People(RuleBasedStateMachine):
    """Nothing runs without a yes in force or twice, and no rule reaches beyond its scope."""

    ledgers: Callable[[Clock], Callable[[], Any]]
    numbers = count()

    @initialize(around=st.booleans())
    def begin(self, around: bool) -> None:
        self.prefix, self.around = f"{next(People.numbers)}", around
        self.clock, self.saver, self.ids = Clock(), InMemorySaver(), count()
        self.catalog = ToolCatalog.from_tools([self.tool(name) for name in TIERS])
        self.connect = People.ledgers(self.clock)
        self.told = Told(self.clock)
        self.seen: dict[str, tuple[str, ApprovalRequest]] = {}  # request id to its thread and what was shown
        self.since = self.clock.now
        self.places: dict[
            str, tuple[str, int, list[str]]
        ] = {}  # thread to the turn asked about, how far, what was asked
        self.ways: list[Mortal] = []
        self.operator = self.connect()
        self.restart()

    # --- the world ----------------------------------------------------------------------------

    def tool(self, name: str) -> BaseTool:
        def run(n: int, call_id: Annotated[str, InjectedToolCallId]) -> str:
            try:
                self.told.runs_now(name, canonical_json({"n": n}), call_id)
            except Exception as error:  # the agent would take it for the tool's own
                self.told.faults.append(repr(error))
            return f"ran {name}"

        made = StructuredTool.from_function(run, name=name, description=f"The tool {name}.")
        return with_profile(made, ToolProfile(tier=TIERS[name]))

    def restart(self) -> None:
        """Both workers are built anew, as after a deployment; ledger and checkpoints stay."""
        for way in self.ways:
            way.close()
        self.ways = [Mortal(self.connect()) for _ in range(2)]
        self.agents: dict[tuple[int, str], Chat] = {}

    def worker(self, number: int, thread: str) -> Chat:
        """A worker's agent for the user of a thread."""
        user = THREADS[thread]
        talk = self.agents.get((number, user))
        if talk is None:
            way: Any = self.ways[number]
            gate = ToolGate(self.catalog, ledger=way, clock=self.clock, new_id=self.new_id)
            caller, model = Caller(f"{self.prefix}-{user}"), ScriptedModel()
            middleware: Any = gate.around(caller=caller) if self.around else [ToolGateMiddleware(gate, caller=caller)]
            tools = [self.tool(name) for name in TIERS]
            agent = create_agent(model, tools, middleware=middleware, checkpointer=self.saver)
            talk = self.agents[number, user] = InTurn(agent, model, gate)
        talk.thread = f"{self.prefix}-{thread}"
        return talk

    def new_id(self) -> str:
        return f"{self.prefix}-{next(self.ids):06x}"

    # --- what happens -------------------------------------------------------------------------

    def drive(
        self, number: int, thread: str, step: Callable[[Chat], Any], dies: tuple[int, bool] | None, stops: bool = False
    ) -> Any:
        """Let a worker take a step. Where it dies, the workers are built anew, and the other one goes on."""
        talk, given = self.worker(number, thread), None
        self.told.where, self.since = thread, self.clock.now
        self.ways[number].dies = dies
        self.told.stopped = stops
        if stops:
            self.operator.stop()
        try:
            given = step(talk)
        except Crash:
            self.restart()
            talk = self.worker(1 - number, thread)
            try:
                # For all that anybody knows, the dead one is still at it.
                talk.invoke(None)
                if any(request.kind == "outcome" and request.request_id not in self.seen for request in talk.requests):
                    self.told.faults.append(f"a person was asked what became of a call on {thread} that may still run")
            except AlreadyAnsweredError:
                self.clock.now += LEASE_IS_OVER
                talk.invoke(None)
            self.clock.now += LEASE_IS_OVER
        if stops:
            self.operator.resume()
        self.told.stopped, self.ways[number].dies = False, None
        for request in talk.requests:
            self.note(thread, request)
        return given

    def note(self, thread: str, request: ApprovalRequest) -> None:
        """A request waits. It should not, where what its person said before settles it."""
        if request.kind != "approval" or request.request_id in self.seen:
            self.seen.setdefault(request.request_id, (thread, request))
            return
        self.seen[request.request_id] = (thread, request)
        before = self.in_its_place(thread, request)
        tool, arguments = request.tool_name, canonical_json(dict(request.arguments))
        about = f"{tool} {arguments} was asked on {thread}"
        always, never = (self.told.in_force(effect, tool, arguments, thread) for effect in ("allow", "deny"))
        if not any("variant" in note for note in request.notes):
            if request.position == 1 and any(one.scope == "user" and one.at < self.since for one in always):
                self.told.faults.append(f"{about} although its user said always")
            if any(one.request_id in before for one in (*always, *never)):
                self.told.faults.append(f"{about} although that was settled for good in this turn")
        same = (thread, self.told.runs[thread], tool, arguments)
        if same in self.told.rejected or (request.position == 1 and same in self.told.rejected_before):
            self.told.faults.append(f"{about} although it was rejected or replaced in this run")
        if request.position == 1 and sum(one[:3] == same[:3] for one in self.told.rejected) >= REJECTIONS_PER_TOOL:
            self.told.faults.append(f"{about} although its tool was rejected again and again in this run")

    def in_its_place(self, thread: str, request: ApprovalRequest) -> list[str]:
        """The questions of a turn come in the model's order. What was asked of this turn before."""
        turn = next(one for one in reversed(self.worker(0, thread).messages) if isinstance(one, AIMessage))
        place = [str(one["id"]) for one in turn.tool_calls].index(request.tool_call_id)
        known, last, asked = self.places.get(thread, ("", -1, []))
        if known != turn.id:
            last, asked = -1, []
        if place <= last:
            self.told.faults.append(f"{request.tool_name} on {thread} was asked about out of its turn")
        self.places[thread] = str(turn.id), place, [*asked, request.request_id]
        return asked

    @rule(
        thread=st.sampled_from([*THREADS]),
        number=st.integers(0, 1),
        turns=TURNS,
        answers=st.lists(ANSWERS, max_size=4),
        data=st.data(),
        what=MEANWHILE,
    )
    def say(
        self, thread: str, number: int, turns: list[Any], answers: list[Any], data: st.DataObject, what: str
    ) -> None:
        """A user writes something; the model makes some turns of calls, and what is asked is answered, now or later."""
        self.meanwhile(what)
        self.write(thread, number, turns, data.draw(DIES), stops=data.draw(STOPS))
        self.give(answers, data)

    def write(
        self, thread: str, number: int, turns: list[Any], dies: tuple[int, bool] | None = None, *, stops: bool = False
    ) -> None:
        """A user writes something, upon which the model makes these turns."""
        self.clock.forward(seconds=1)
        self.told.runs[thread] += 1
        talk = self.worker(number, thread)
        told = [says(*[call(name, n=n) for name, n in turn]) for turn in turns]
        talk.model.script = [AIMessage("done")] * len(talk.model.seen) + told
        for message in talk.agent.get_state(talk.config).values.get("messages", ()):
            for one in message.tool_calls if isinstance(message, AIMessage) else ():
                # What waits is superseded, and an approval that was not used withdrawn.
                self.told.yes.pop(str(one["id"]), None)
        self.drive(number, thread, lambda chat: chat.say(), dies, stops=stops)

    @property
    def waiting(self) -> list[tuple[str, ApprovalRequest]]:
        return [(thread, request) for thread in THREADS for request in self.worker(0, thread).requests]

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), answers=st.lists(ANSWERS, min_size=1, max_size=4), what=MEANWHILE)
    def answer(self, data: st.DataObject, answers: list[Any], what: str) -> None:
        """What waits is answered."""
        self.meanwhile(what)
        self.give(answers, data)

    def give(self, answers: list[Any], data: st.DataObject) -> None:
        """The right answers to what waits, one after the other, each by whichever worker."""
        for answer in answers:
            waiting = self.waiting
            if not waiting:
                return
            thread, request = data.draw(st.sampled_from([*waiting[-1:] * 2, *waiting]))
            self.clock.forward(seconds=1)
            number, dies, stops = data.draw(st.integers(0, 1)), data.draw(DIES), data.draw(STOPS)
            self.answer_one(thread, request, answer, number, dies, stops, data.draw(MEETS))

    def answer_one(
        self,
        thread: str,
        request: ApprovalRequest,
        answer: dict[str, Any],
        number: int,
        dies: tuple[int, bool] | None,
        stops: bool,
        meets: tuple[int, bool] | None,
    ) -> None:
        kind, remember = answer["type"], answer["remember"]
        if request.kind == "outcome":
            # Nobody knows whether the call ran, because its worker died; a person says what became of it.
            kind = {"approve": "try_again", "respond": "done", "edit": "failed"}.get(kind, kind)
        given: dict[str, Any] = {"type": kind, "request_id": request.request_id}
        if kind == "edit":
            given["edited_action"] = {"name": request.tool_name, "args": {"n": answer["n"]}}
        if kind == "respond":
            given["message"] = "a person's words"
        offered = {(offer.what, offer.scope) for offer in request.remember}
        if remember is not None and (
            (kind == "reject" and request.kind == "approval")
            or (kind == "approve" and (remember["what"], remember["scope"]) in offered)
        ):
            given["remember"] = remember
        elif remember is not None and answer["insists"]:
            # It cannot be used, and the request waits on, or is denied the third time.
            given["remember"] = remember
            self.drive(number, thread, lambda chat: chat.gate.answer(chat.agent, chat.config, given), None)
            return
        before = self.told.so_far()
        self.told.answered(thread, request, given)
        accepted: list[bool] = []
        if meets is not None and dies is None:
            self.ways[number].meets = (
                meets[0],
                self.in_between(1 - number, thread, request, given, accepted, same=meets[1]),
            )
        became = self.drive(
            number, thread, lambda chat: chat.gate.answer(chat.agent, chat.config, given), dies, stops=stops
        )
        self.ways[number].meets = None
        if accepted == [True] and became is not None and became.status == "accepted":
            self.told.faults.append(f"two workers carried an answer on {thread}")
        if any(one.request_id == request.request_id for _, one in self.waiting):
            # It did not arrive, because the worker died before, and still waits.
            assert dies is not None
            self.told.unsay(before, request)
        elif dies is not None:
            self.counted_from(thread, request.request_id)

    def in_between(
        self,
        number: int,
        thread: str,
        request: ApprovalRequest,
        given: dict[str, Any],
        accepted: list[bool],
        *,
        same: bool,
    ) -> Callable[[], None]:
        """What another worker does while one carries an answer: it brings the same one, or takes it back."""
        other = self.worker(number, thread)
        no = {"type": "reject", "request_id": request.request_id}

        def meanwhile() -> None:
            became = other.gate.answer(other.agent, other.config, given if same else no)
            accepted.append(became.status == "accepted")
            if became.status == "withdrawn":
                self.told.taken_back(request)

        return meanwhile

    def counted_from(self, thread: str, request_id: str) -> None:
        """Where the worker died before the answer was on record, its time counts from when another one had it."""
        talk = self.worker(0, thread)
        listed = talk.gate.rules(f"{self.prefix}-{THREADS[thread]}", agent=talk.agent, config=talk.config)
        for said in self.told.said_so:
            ends = next((one.expires_at for one in listed if one.request_id == request_id == said.request_id), None)
            if said.until is not None and ends is not None:
                assert ends - said.until in (timedelta(0), LEASE_IS_OVER)
                said.until = ends

    @precondition(lambda self: self.seen)
    @rule(
        data=st.data(),
        number=st.integers(0, 1),
        thread=st.sampled_from([*THREADS]),
        kind=st.sampled_from(["approve", "reject", "reject"]),
        unknown=st.integers(0, 5),
        remember=st.booleans(),
    )
    def answer_to_something_else(
        self, data: st.DataObject, number: int, thread: str, kind: str, unknown: int, remember: bool
    ) -> None:
        """An answer sent twice or late, with a wrong id or on another thread; or a yes that is taken back."""
        own = [request_id for request_id, (where, _) in self.seen.items() if where == thread]
        request_id = data.draw(st.sampled_from([*self.seen, *own[-3:] * 3])) if unknown else "made up"
        waiting = {request.request_id: where for where, request in self.waiting}
        if waiting.get(request_id) == thread:
            return
        given: dict[str, Any] = {"type": kind, "request_id": request_id}
        if remember:
            given["remember"] = {"what": "tool", "scope": "user"}
        became = self.drive(number, thread, lambda chat: chat.gate.answer(chat.agent, chat.config, given), None)
        assert became.status != "accepted"
        assert {request.request_id: where for where, request in self.waiting} == waiting
        if became.status == "withdrawn":
            where, request = self.seen[request_id]
            assert where == thread
            self.told.taken_back(request)

    def on(self, thread: str) -> list[ApprovalRequest]:
        return [request for where, request in self.waiting if where == thread]

    def reply(self, thread: str, number: int, kind: str, remember: Any = None) -> ApprovalRequest | None:
        """Answer what waits on a thread, if anything does."""
        for request in self.on(thread):
            self.clock.forward(seconds=1)
            answer = {"type": kind, "n": 3, "remember": remember, "insists": False}
            self.answer_one(thread, request, answer, number, None, stops=False, meets=None)
            return request
        return None

    # --- looking back -------------------------------------------------------------------------

    def snapshots(self, talk: Chat) -> list[str]:
        """The checkpoints of a thread in which something was still to be done, newest first."""
        found = [one for one in talk.agent.get_state_history(talk.config) if one.next and one.values.get("messages")]
        return [str(one.config["configurable"]["checkpoint_id"]) for one in found]

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), number=st.integers(0, 1))
    def an_old_backup_is_gone_on_with(self, data: st.DataObject, number: int) -> None:
        """The checkpoints of a conversation go back in time, and the ledger does not."""
        thread = data.draw(st.sampled_from(sorted({where for where, _ in self.seen.values()})))
        talk = self.worker(number, thread)
        if places := self.snapshots(talk):
            self.go_back(talk, thread, data.draw(st.sampled_from(places)))

    def go_back(self, talk: Chat, thread: str, last: str) -> None:
        saver = self.saver
        now = deepcopy(saver.storage), deepcopy(saver.writes), deepcopy(saver.blobs)
        for checkpoints in saver.storage[talk.thread].values():
            for later in [one for one in checkpoints if one > last]:
                del checkpoints[later]
        self.told.where = thread
        with suppress(AlreadyAnsweredError):
            talk.invoke(None)
        saver.storage, saver.writes, saver.blobs = now

    @precondition(lambda self: any(len(asked) > 1 for _, _, asked in self.places.values()))
    @rule(data=st.data(), number=st.integers(0, 1), remember=st.booleans())
    def take_back_where_the_next_question_stands(self, data: st.DataObject, number: int, remember: bool) -> None:
        """A no to an earlier question of the turn, sent where the next one waits."""
        threads = [thread for thread, request in self.waiting if request.kind == "approval"]
        earlier = [(thread, key) for thread in threads for key in self.places[thread][2][:-1]]
        if not earlier:
            return
        thread, request_id = data.draw(st.sampled_from(earlier))
        given: dict[str, Any] = {"type": "reject", "request_id": request_id}
        if remember:
            given["remember"] = {"what": "tool", "scope": "thread", "expires_in": None}
        (waits,) = self.on(thread)
        self.drive(number, thread, lambda chat: chat.resume(given), None)
        (still,) = self.on(thread)
        assert (still.request_id, still.error != "") == (waits.request_id, True)
        if "was taken back" in still.error:
            self.told.taken_back(self.seen[request_id][1])

    @precondition(lambda self: self.told.said_so)
    @rule(number=st.integers(0, 1), thread=st.sampled_from([*THREADS]), data=st.data(), users=st.booleans())
    def revoke(self, number: int, thread: str, data: st.DataObject, users: bool) -> None:
        """Somebody lists rules and revokes one, by whichever of the answers that made it."""
        self.clock.forward(seconds=1)
        talk = self.worker(number, thread)
        if users:
            listed = talk.gate.rules(f"{self.prefix}-{THREADS[thread]}")
        else:
            listed = talk.gate.rules(agent=talk.agent, config=talk.config)
        if not listed:
            return
        chosen = data.draw(st.sampled_from([str(one.request_id) for one in listed]))
        (said,) = [one for one in self.told.said_so if one.request_id == chosen]
        if users:
            same = [one for one in self.told.instead if self.told.lives_on_in(one) == chosen]
            chosen = data.draw(st.sampled_from([chosen, *same]))
        assert talk.gate.revoke(chosen) is True
        self.told.revoked(said)

    def meanwhile(self, what: str) -> None:
        self.clock.forward(seconds=1, minutes=60 if what == "an hour" else 0)
        if what == "restart":
            self.restart()
        if what == "tighten or loosen":
            self.told.off ^= {"save"}
            self.catalog.switch_tool("save", on="save" not in self.told.off)

    # --- looking ------------------------------------------------------------------------------

    @invariant()
    def nothing_ran_that_should_not_have(self) -> None:
        assert self.told.faults == []

    @invariant()
    def a_users_rules_are_what_people_said(self) -> None:
        gate = self.worker(0, "one").gate
        for user in ("ann", "ben"):
            listed = sorted(plainly(one) for one in gate.rules(f"{self.prefix}-{user}"))
            assert listed == sorted(
                (one.request_id, one.effect, one.tool, str(one.exact), str(one.until))
                for one in self.told.said_so
                if (one.scope, one.owner) == ("user", user)
            )

    @invariant()
    def every_call_has_its_one_tool_message_unless_it_waits(self) -> None:
        for thread in THREADS:
            talk = self.worker(0, thread)
            waiting: list[str] = []
            for message in talk.agent.get_state(talk.config).values.get("messages", ()):
                if isinstance(message, ToolMessage):
                    waiting.remove(message.tool_call_id)
                    continue
                assert waiting == []
                if isinstance(message, AIMessage):
                    waiting = [str(one["id"]) for one in message.tool_calls]
            assert waiting == [] or talk.requests


def plainly(rule: StandingRule) -> tuple[str, str, str, str, str]:
    exact = None if rule.arguments is None else canonical_json(rule.arguments)
    return str(rule.request_id), rule.effect, rule.tool_name, str(exact), str(rule.expires_at)
