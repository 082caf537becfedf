"""What people said and were told, as the only thing that a gate is measured by: a small model beside it."""

from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.support import Clock
from toolgate_langchain import ApprovalRequest
from toolgate_langchain.canonical import canonical_json

THREADS = {"one": "ann", "two": "ann", "three": "ben"}
"""Conversations, and whose each is."""


@dataclass
class Said:
    """One "don't ask again" of a person."""

    request_id: str
    effect: str
    tool: str
    exact: str | None
    scope: str
    owner: str
    at: datetime
    until: datetime | None

    @property
    def same(self) -> tuple[object, ...]:
        return self.effect, self.tool, self.exact, self.scope, self.owner

    def covers(self, tool: str, arguments: str, now: datetime) -> bool:
        return self.tool == tool and self.exact in (None, arguments) and (self.until is None or now < self.until)


@dataclass
class Told:
    """Everything that was said, and what is wrong with what ran."""

    clock: Clock
    yes: dict[str, str] = field(default_factory=dict)
    """Call id to the arguments that a person said yes to."""
    no: set[str] = field(default_factory=set)
    """Calls that a person said no to, or whose approval was taken back."""
    said_so: list[Said] = field(default_factory=list)
    instead: dict[str, str] = field(default_factory=dict)
    """Request id to the one whose answer made the same rule of a user since."""
    runs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(THREADS, 0))
    rejected: set[tuple[str, int, str, str]] = field(default_factory=set)
    rejected_before: set[tuple[str, int, str, str]] = field(default_factory=set)
    """As `rejected`, of what was approved first, or replaced by something else: that counts from the next turn on."""
    executed: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    off: set[str] = field(default_factory=set)
    stopped: bool = False
    where: str = "one"
    """The thread that is driven now."""

    def in_force(self, effect: str, tool: str, arguments: str, thread: str) -> list[Said]:
        owners = {"user": THREADS[thread], "thread": thread, "run": f"{thread} {self.runs[thread]}"}
        return [
            one
            for one in self.said_so
            if one.effect == effect and owners[one.scope] == one.owner and one.covers(tool, arguments, self.clock.now)
        ]

    def runs_now(self, tool: str, arguments: str, call_id: str) -> None:
        """A tool runs. Everything that must hold then, by what people were told."""
        thread, about = self.where, f"{tool} {arguments} ({call_id}) on {self.where}"
        if self.stopped or tool in self.off:
            self.faults.append(f"{about} ran although it was switched off")
        if self.in_force("deny", tool, arguments, thread):
            self.faults.append(f"{about} ran although somebody said never")
        if tool == "read":
            return
        if call_id in self.executed:
            self.faults.append(f"{about} ran twice")
        self.executed.append(call_id)
        if call_id in self.no:
            self.faults.append(f"{about} ran after a no")
        elif self.yes.get(call_id) == arguments:
            return
        elif not self.in_force("allow", tool, arguments, thread):
            self.faults.append(f"{about} ran without a yes")
        elif (thread, self.runs[thread], tool, arguments) in self.rejected:
            self.faults.append(f"{about} ran by a rule after it was rejected in the run")

    def _remember(self, said: Said) -> None:
        """A user's rule is one, however often it is said: the later stays, but a deny never ends sooner."""
        if said.scope == "user":
            same = next((one for one in self.said_so if one.same == said.same), None)
            if same is not None:
                sooner = said.until is not None and (same.until is None or same.until > said.until)
                stays, goes = (same, said) if said.effect == "deny" and sooner else (said, same)
                self.instead[goes.request_id] = stays.request_id
                if stays is same:
                    return
                self.said_so.remove(same)
        self.said_so.append(said)

    def answered(self, thread: str, request: ApprovalRequest, given: dict[str, Any]) -> None:
        """A person answers a request; what they were told became of it is what must hold from then on."""
        call_id, kind, arguments = request.tool_call_id, given["type"], canonical_json(dict(request.arguments))
        run = self.runs[thread]
        if request.kind == "outcome":
            if kind == "try_again":
                self.yes[call_id] = arguments
                self.executed = [one for one in self.executed if one != call_id]
            return
        if kind == "reject":
            self.no.add(call_id)
            self.rejected.add((thread, run, request.tool_name, arguments))
        if kind == "edit":
            self.rejected_before.add((thread, run, request.tool_name, arguments))
        if kind in ("approve", "edit"):
            self.yes[call_id] = canonical_json(given["edited_action"]["args"]) if kind == "edit" else arguments
        if (remember := given.get("remember")) is None:
            return
        scope, ends = remember["scope"], remember["expires_in"]
        self._remember(
            Said(
                request_id=request.request_id,
                effect="allow" if kind == "approve" else "deny",
                tool=request.tool_name,
                exact=arguments if remember["what"] == "arguments" else None,
                scope=scope,
                owner={"user": THREADS[thread], "thread": thread, "run": f"{thread} {run}"}[scope],
                at=self.clock.now,
                until=None if ends is None else self.clock.now + timedelta(seconds=ends),
            )
        )

    def so_far(self) -> Any:
        return deepcopy((self.said_so, self.instead, self.no, self.yes, self.rejected, self.rejected_before))

    def unsay(self, before: Any, request: ApprovalRequest) -> None:
        """An answer did not arrive."""
        self.said_so, self.instead, self.no, self.yes, self.rejected, self.rejected_before = before
        if request.kind == "outcome":
            self.executed.append(request.tool_call_id)

    def taken_back(self, request: ApprovalRequest) -> None:
        """A person took an approval back, and was told that it is."""
        if request.tool_call_id in self.executed:
            self.faults.append(f"{request.tool_name} ({request.tool_call_id}) was taken back after it had run")
        self.no.add(request.tool_call_id)
        arguments = canonical_json(dict(request.arguments))
        self.rejected_before.add((self.where, self.runs[self.where], request.tool_name, arguments))
        self.said_so = [one for one in self.said_so if one.request_id != request.request_id]

    def revoked(self, said: Said) -> None:
        """Of a thread's denies that are the same a state keeps one."""
        self.said_so = [
            one for one in self.said_so if one is not said and not (one.effect == "deny" and one.same == said.same)
        ]

    def lives_on_in(self, request_id: str) -> str:
        while request_id in self.instead:
            request_id = self.instead[request_id]
        return request_id
