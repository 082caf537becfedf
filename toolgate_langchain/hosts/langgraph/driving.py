"""Driving a paused run: one answer at a time, or with an approver until the agent is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from langgraph.types import Command, Interrupt

from toolgate_langchain.approvals.answer import ApprovalAnswer, read_answer
from toolgate_langchain.approvals.attempts import new_name
from toolgate_langchain.approvals.identity import UNSAID
from toolgate_langchain.approvals.request import ApprovalRequest, is_approval_interrupt
from toolgate_langchain.approvals.steps import Steps, arun_steps, run_steps
from toolgate_langchain.catalog.checks import listed
from toolgate_langchain.errors import AlreadyAnsweredError, ConfigurationError, InvalidAnswerError
from toolgate_langchain.hosts.checks import check_callables
from toolgate_langchain.hosts.engine.answering import AnswerResult, barred, named_by, not_pending
from toolgate_langchain.hosts.side import Side

if TYPE_CHECKING:
    from toolgate_langchain.approvals.approver import Approver
    from toolgate_langchain.approvals.identity import Unsaid
    from toolgate_langchain.approvals.inbox import LeftAnswer
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = [
    "AnswerResult",
    "DriveResult",
    "adrive",
    "answer_steps",
    "drive",
    "pending_requests",
]

MAX_ASKED: Final = 10
"""Times that an approver is asked about one request. Unusable answers end earlier, with a refusal; this ends
an approver that always answers some other request."""

ForeignHandler: TypeAlias = Callable[[Interrupt[Any]], Any]
"""Answers an interrupt that is not the gate's; may return an awaitable."""


@dataclass(frozen=True, slots=True)
class DriveResult:
    """How a driven run stands."""

    output: Any
    """What the agent returned last."""
    foreign: tuple[Interrupt[Any], ...] = ()
    """Interrupts that are not the gate's and that nobody said how to answer; empty when done."""

    @property
    def done(self) -> bool:
        """Whether the agent ended."""
        return not self.foreign


def drive(
    agent: Any,
    input: Any,
    config: Mapping[str, Any] | None = None,
    *,
    approver: Approver,
    foreign: ForeignHandler | None = None,
    context: Any = None,
) -> DriveResult:
    """Run an agent until it is done, asking an approver whenever the gate needs a person.

    Args:
        agent: A compiled agent.
        input: The graph's input; `None` goes on with a run that is paused already.
        config: The config with the thread.
        approver: Answers requests.
        foreign: Answers interrupts that are not the gate's; without it, or where it returns `None`,
            the run stops at one, and the result lists it.
        context: The run's context object, as for `invoke`.

    Raises:
        InvalidAnswerError: If the approver keeps answering other requests than the one it is asked
            about; the request stays pending.
    """
    return run_steps(_drive_steps(Side(agent, asynchronous=False), input, config, approver, foreign, context))


async def adrive(
    agent: Any,
    input: Any,
    config: Mapping[str, Any] | None = None,
    *,
    approver: Approver,
    foreign: ForeignHandler | None = None,
    context: Any = None,
) -> DriveResult:
    """As `drive`, for asynchronous code; approver and foreign handler may be asynchronous too."""
    return await arun_steps(_drive_steps(Side(agent, asynchronous=True), input, config, approver, foreign, context))


def pending_requests(interrupts: Any) -> list[tuple[str, ApprovalRequest]]:
    """The gate's requests among interrupts, each with the id of its interrupt.

    Raises:
        ConfigurationError: If they are not interrupts, as `get_state(config).interrupts` gives them.
    """
    pending = listed("interrupts", interrupts)
    for one in pending:
        if not hasattr(one, "value") or not hasattr(one, "id"):
            raise ConfigurationError(f"interrupts holds {one!r}, which is not an Interrupt")
    return [(one.id, ApprovalRequest.from_interrupt(one.value)) for one in pending if is_approval_interrupt(one.value)]


def _drive_steps(
    side: Side,
    input: Any,
    config: Mapping[str, Any] | None,
    approver: Approver,
    foreign: ForeignHandler | None,
    context: Any,
) -> Steps[DriveResult]:
    agent = side.agent
    if not callable(getattr(agent, "ainvoke" if side.asynchronous else "invoke", None)):
        raise ConfigurationError(f"agent is {agent!r}, which is not an agent that can be run")
    check_callables({"approver": approver, "foreign": foreign})
    output: Any = None
    asked: dict[str, int] = {}
    command: Command[Any]
    if input is not None:
        output = yield lambda: side.invoke(input, config, context)
    if not getattr(agent, "checkpointer", None):
        return DriveResult(output)
    while True:
        snapshot = yield lambda: side.state(config)
        interrupts = tuple(snapshot.interrupts)
        if not interrupts:
            return DriveResult(output if output is not None else snapshot.values)
        requests = pending_requests(interrupts)
        if requests:
            interrupt_id, request = requests[0]
            asked[request.request_id] = asked.get(request.request_id, 0) + 1
            if asked[request.request_id] > MAX_ASKED:
                raise InvalidAnswerError(
                    f"the approver was asked {MAX_ASKED} times about request {request.request_id} and never "
                    "answered it; the request is still pending"
                )
            given = yield partial(approver, request)
            command = _resuming(interrupts, interrupt_id, _named(given, request))
        elif foreign is not None:
            handler, first = foreign, interrupts[0]
            value = yield partial(handler, first)
            if value is None:
                # LangGraph takes `None` for "no answer given" and would wait forever.
                return DriveResult(output, interrupts)
            command = Command(resume={first.id: value})
        else:
            return DriveResult(output, interrupts)
        output = yield partial(side.invoke, command, config, context)


def _named(given: Any, request: ApprovalRequest) -> Any:
    """The answer with the id of the request that it was given to. Whatever else it is, the queue judges."""
    if isinstance(given, ApprovalAnswer):
        given = given.to_json()
    if isinstance(given, Mapping) and list(given) == ["decisions"] and isinstance(given["decisions"], list):
        # The shape of LangChain's own middleware.
        return {"decisions": [_named(one, request) for one in given["decisions"]]}
    if isinstance(given, list):
        # The shape of agent-inbox.
        return [_named(one, request) for one in given]
    if isinstance(given, Mapping) and given.get("request_id") is None and "decisions" not in given:
        return {**given, "request_id": request.request_id}
    # LangGraph takes `None` for "no answer given" and would wait forever.
    return {"type": None, "request_id": request.request_id} if given is None else given


def _resuming(interrupts: Sequence[Interrupt[Any]], interrupt_id: str, answer: Any) -> Command[Any]:
    """Carry an answer to its interrupt.

    Not keyed where only one waits: such an answer takes the place of an earlier one that was sent without a key,
    which LangGraph would otherwise deliver once more, to the next question.
    """
    return Command(resume=answer if len(interrupts) == 1 else {interrupt_id: answer})


def answer_steps(
    gate: ToolGate,
    agent: Any,
    config: Mapping[str, Any],
    answer: Any,
    *,
    asynchronous: bool,
    by: str | Unsaid | None = UNSAID,
    context: Any = None,
) -> Steps[AnswerResult]:
    """Answer one pending request: look at the state first, then resume.

    A bare `Command(resume=...)` cannot promise that: sent to a finished thread it silently returns
    the old state, and sent twice it can answer the next question.
    """
    try:
        read = named_by(read_answer(answer), by)
        if read.request_id is None:
            raise InvalidAnswerError('the answer names no request: add "request_id"')
    except InvalidAnswerError as error:
        return AnswerResult("invalid", str(error))
    wanted, thread = read.request_id, config.get("configurable", {}).get("thread_id")
    side, holder = Side(agent, asynchronous), new_name()
    claimed = yield lambda: gate.ledger.claim(wanted, holder=holder)
    if claimed is not True:
        recorded = yield lambda: gate.ledger.answer_to(wanted)
        if recorded is None:
            return AnswerResult("already_answered", f"request {wanted} is being answered")
        return (yield from not_pending(gate, read, thread))
    try:
        # Only looked at with the claim in hand: what was pending before may be answered by now.
        snapshot = yield lambda: side.state(config)
        found = [one for one in pending_requests(snapshot.interrupts) if one[1].request_id == wanted]
        if not found:
            return (yield from not_pending(gate, read, thread))
        if told := (yield from _refused(gate, read, found[0][1])):
            return told
        command = _resuming(snapshot.interrupts, found[0][0], read.to_json())
        output = yield lambda: side.invoke(command, config, context)
        after = yield lambda: side.state(config)
    except AlreadyAnsweredError as error:
        # Somebody resumed the run without asking for this claim.
        return AnswerResult("already_answered", str(error))
    finally:
        yield lambda: gate.ledger.release(wanted, holder=holder)
    still = [request for _, request in pending_requests(after.interrupts) if request.request_id == wanted]
    if still:
        return AnswerResult("asked_again", still[0].error, output)
    if gate.request_expiry is not None and (yield lambda: gate.ledger.expire(wanted, at=gate.judge.clock())):
        return AnswerResult("expired", f"request {wanted} had expired; its call was denied and the run went on", output)
    return AnswerResult("accepted", output=output)


def _refused(gate: ToolGate, answer: ApprovalAnswer, request: ApprovalRequest) -> Steps[AnswerResult | None]:
    """What becomes of an answer to a pending request that is not taken: `None` where it is.

    One that waits in the ledger was given first, and only a no may still take it back.
    """
    key = request.request_id
    left: LeftAnswer | None = yield lambda: gate.ledger.left_answer(key)
    if left is not None and left.answer != answer and answer.type != "reject":
        waits = "and that answer waits to be carried into its run: resume_answered(agent) does so"
        return AnswerResult("already_answered", f"request {key} was answered with {left.answer.type!r}, {waits}")
    told = yield from barred(gate, answer, request)
    return AnswerResult("not_allowed", told) if told else None
