"""What a person is told beside a call: what could mislead them, what it would do, and what else they should know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.described import described
from toolgate_langchain.approvals.judged import for_operators
from toolgate_langchain.approvals.origins import origin_notes
from toolgate_langchain.approvals.policy_notes import policy_notes
from toolgate_langchain.approvals.preview import take_preview
from toolgate_langchain.approvals.rules import RuleView
from toolgate_langchain.approvals.shown import show_arguments, show_text
from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.policy.decision import Code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.judge import TurnJudge
    from toolgate_langchain.approvals.judged import Judged, Judging
    from toolgate_langchain.approvals.preview import SavedPreview
    from toolgate_langchain.approvals.rules import RuleIndex
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import CallRecord
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.decide import ProposedCall
    from toolgate_langchain.policy.decision import Decision

__all__ = ["misleading", "prepare"]


def misleading(
    name: str, entry: CatalogEntry, arguments: Mapping[str, Any], agent_path: tuple[str, ...]
) -> tuple[str, ...]:
    """What could mislead a person who looks at a call.

    Args:
        name: The name that the model called.
        entry: The tool.
        arguments: The effective arguments.
        agent_path: The agents that it comes through.
    """
    return (
        *show_text(name, what="the tool's name").warnings,
        *show_text(entry.origin, what="the server's name").warnings,
        *dict.fromkeys(one for agent in agent_path for one in show_text(agent, what="an agent's name").warnings),
        *show_arguments(arguments)[1],
    )


def prepare(judge: TurnJudge, record: CallRecord, judged: Judged, about: Judging, index: RuleIndex) -> Steps[None]:
    """Fill in what is shown with a call that a person is asked about.

    Args:
        judge: The gate's judge.
        record: The record of the call.
        judged: The call, as it was judged.
        about: Its turn.
        index: The standing rules of the thread.
    """
    _, proposed, _, decision = judged
    record.shown = canonical_json(proposed.arguments.values if proposed.arguments else None)[:2_000]
    record.preview = yield from _previewed(judge, proposed)
    seen = policy_notes(judge.rulebook, proposed, about.run, about.history, decision)
    record.notes = (*seen, *(yield from _notes(judge, judged, about, index)))
    if record.preview is not None and record.preview.fault:
        fault = show_text(record.preview.fault).text
        record.notes = (*record.notes, f"what it would do could not be told: {fault}")
    record.allowed = judge.rulebook.approval_rule.asks.get(record.name)
    _save_schemas(record, proposed, decision)


def _previewed(judge: TurnJudge, proposed: ProposedCall) -> Steps[SavedPreview | None]:
    """What the call would do, as its tool tells it; `None` where the tool tells nothing."""
    entry, arguments = proposed.entry, proposed.arguments
    if entry is None or arguments is None or entry.profile.preview is None:
        return None
    return (yield from take_preview(entry.profile.preview, arguments.values, judge.preview_seconds))


def _notes(judge: TurnJudge, judged: Judged, about: Judging, index: RuleIndex) -> Steps[tuple[str, ...]]:
    """What a person should know besides the call itself."""
    call, proposed, _, _ = judged
    entry, arguments = proposed.entry, proposed.arguments
    assert entry is not None and arguments is not None
    notes = list(origin_notes(judge.rulebook, proposed, about.run, about.history))
    if judge.describe is not None and (note := described(judge.describe, *for_operators(call, proposed, about))):
        notes.append(note)
    if about.at_cap:
        turns = about.memory.auto_approved_turns
        notes.append(f"{turns} turn{'s' if turns != 1 else ''} ran without anybody being asked")
    if about.memory.rejections.get(entry.name):
        notes.append("a call of this tool with other arguments was rejected in this run; this is a variant of it")
    if not arguments.exact:
        notes.append("validating its arguments twice gives different values, so they run as the model wrote them")
    if index.rules and isinstance(about.rules, RuleView) and (void := about.rules.void(entry, arguments.values)):
        notes.append(void)
    if entry.change:
        notes.append(show_text(entry.change).text)
    change = yield lambda: judge.ledger.change(about.run.id, entry.name)
    if change:
        notes.append(change)
    return tuple(notes)


def _save_schemas(record: CallRecord, proposed: ProposedCall, decision: Decision) -> None:
    """Keep the forms that an answer must fit, for a process that goes on asking before it has met the tool."""
    entry = proposed.entry
    assert entry is not None
    if entry.arguments is not None:
        record.args_schema = entry.arguments.json_schema
    if decision.code == Code.INPUT_REQUIRED and entry.profile.input_schema is not None:
        record.input_schema = dict(entry.profile.input_schema)
