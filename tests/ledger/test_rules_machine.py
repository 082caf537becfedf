"""Queue, ledger and rules together, on every kind of ledger, beside a small model of what people were told.

Two workers drive the conversations of two users. What runs is seen inside of the tools, so that no shortcut of the gate
is left out. The model of the gate is `told.py`: what a person said, and what they were told became of it.
"""

import os
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Annotated, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)  # fmt: skip
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from tests.ledger.databases import Databases
from tests.ledger.told import THREADS, Told
from tests.support import Chat, Clock, ScriptedModel, call, says, with_profile
from toolgate_langchain import (
    ApprovalRequest,
    Caller,
    InMemoryLedger,
    SqlLedger,
    StandingRule,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
)  # fmt: skip
from toolgate_langchain.canonical import canonical_json

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
    }
)
STOPS = st.integers(0, 9).map(lambda number: number == 9)
MEANWHILE = st.sampled_from([*["nothing"] * 5, "an hour", "an hour", "restart", "tighten or loosen"])
DIES = st.none() | st.none() | st.tuples(st.integers(1, 25), st.booleans())
"""Not at all, or with the so-maniest word to the ledger, before or after it was heard."""


class Crash(BaseException):
    """The worker dies."""


class Mortal:
    """A worker's way to the ledger. Once the worker is dead, nothing of it reaches the ledger any more."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self.dies: tuple[int, bool] | None = None

    def close(self) -> None:
        if isinstance(self._ledger, SqlLedger):
            self._ledger.close()

    def quiet(self, *given: Any) -> Any:
        return self._ledger.quiet(*given)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._ledger, name)

        def reach(*given: Any, **named: Any) -> Any:
            if self.dies is not None:
                left, heard = self.dies
                self.dies = (left - 1, heard)
                if left == 1 and heard:
                    method(*given, **named)
                if left <= 1:
                    raise Crash
            return method(*given, **named)

        return reach


class InTurn(Chat):
    """Calls run one after the other, so that the same steps lead to the same words in the same order."""

    @property
    def config(self) -> dict[str, Any]:
        return {**super().config, "max_concurrency": 1}


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
            self.clock.now += LEASE_IS_OVER
            talk = self.worker(1 - number, thread)
            talk.invoke(None)
        if stops:
            self.operator.resume()
        self.told.stopped, self.ways[number].dies = False, None
        for request in talk.requests:
            self.note(thread, request)
        return given

    def note(self, thread: str, request: ApprovalRequest) -> None:
        """A request waits. It should not, where it was judged just now and its user said always before."""
        fresh = request.request_id not in self.seen and request.position == 1 and request.kind == "approval"
        self.seen[request.request_id] = (thread, request)
        arguments = canonical_json(dict(request.arguments))
        always = self.told.in_force("allow", request.tool_name, arguments, thread)
        variant = any("variant" in note for note in request.notes)
        if fresh and not variant and any(one.scope == "user" and one.at < self.since for one in always):
            self.told.faults.append(
                f"{request.tool_name} {arguments} was asked on {thread} although its user said always"
            )

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
        self.told.runs[thread] += 1
        talk = self.worker(number, thread)
        told = [says(*[call(name, n=n) for name, n in turn]) for turn in turns]
        talk.model.script = [AIMessage("done")] * len(talk.model.seen) + told
        for message in talk.agent.get_state(talk.config).values.get("messages", ()):
            for one in message.tool_calls if isinstance(message, AIMessage) else ():
                # What waits is superseded, and an approval that was not used withdrawn.
                self.told.yes.pop(str(one["id"]), None)
        self.drive(number, thread, lambda chat: chat.say(), data.draw(DIES), stops=data.draw(STOPS))
        self.give(answers, data)

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
            self.answer_one(thread, request, answer, data.draw(st.integers(0, 1)), data.draw(DIES), data.draw(STOPS))

    def answer_one(
        self,
        thread: str,
        request: ApprovalRequest,
        answer: dict[str, Any],
        number: int,
        dies: tuple[int, bool] | None,
        stops: bool,
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
        before = self.told.so_far()
        self.told.answered(thread, request, given)
        self.drive(number, thread, lambda chat: chat.gate.answer(chat.agent, chat.config, given), dies, stops=stops)
        if any(one.request_id == request.request_id for _, one in self.waiting):
            # It did not arrive, because the worker died before, and still waits.
            assert dies is not None
            self.told.unsay(before, request)
        elif dies is not None:
            self.counted_from(thread, request.request_id)

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


def run(ledgers: Callable[[Clock], Callable[[], Any]], examples: int) -> None:
    """Drive some examples; `TOOLGATE_TIMES=20` drives twenty times as many, which takes minutes and finds more."""
    examples *= int(os.environ.get("TOOLGATE_TIMES", "1"))
    People.ledgers = staticmethod(ledgers)
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        People,
        settings=settings(
            max_examples=examples, stateful_step_count=12, deadline=None, derandomize=True, suppress_health_check=checks
        ),
    )


def test_with_a_ledger_in_memory() -> None:
    def ledgers(clock: Clock) -> Callable[[], Any]:
        shared = InMemoryLedger(clock=clock)
        return lambda: shared

    run(ledgers, 10)


def test_with_a_ledger_in_a_database(databases: Databases) -> None:
    run(lambda clock: lambda: databases.ledger(clock=clock), 4 if databases.postgres is None else 3)
