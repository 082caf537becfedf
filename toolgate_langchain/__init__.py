"""One gate for every tool call that a LangChain agent makes.

Names load when they are first used: importing this package imports nothing else.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate_langchain.approvals.answer import ApprovalAnswer, Remember
    from toolgate_langchain.approvals.approver import Approver
    from toolgate_langchain.approvals.memory_ledger import InMemoryLedger
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.rules import StandingRule
    from toolgate_langchain.approvals.sql.ledger import SqlLedger
    from toolgate_langchain.catalog.catalog import ToolCatalog
    from toolgate_langchain.catalog.profile import ToolProfile, tool_profile
    from toolgate_langchain.catalog.remote import Declaration, RemoteServer
    from toolgate_langchain.catalog.wellknown import well_known_profiles
    from toolgate_langchain.errors import (
        AlreadyAnsweredError,
        ConfigurationError,
        DataAboveZoneError,
        HeuristicError,
        InvalidAnswerError,
        LedgerError,
        MissingExtraError,
        RecordError,
        SessionError,
        ToolApprovalRequired,
        ToolGateError,
        ToolGateWarning,
        TurnLimitReached,
    )
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.hosts.gated.agent import GatedAgent
    from toolgate_langchain.hosts.gated.session import ApprovalSession
    from toolgate_langchain.hosts.inside.subagents import gate_subagents
    from toolgate_langchain.hosts.langgraph.driving import adrive, drive, pending_requests
    from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware
    from toolgate_langchain.hosts.langgraph.resuming import aresume_answered, resume_answered
    from toolgate_langchain.policy.approval_rule import ApprovalRule
    from toolgate_langchain.policy.caller import Caller, RunConfiguration, Skill
    from toolgate_langchain.policy.decision import Decision
    from toolgate_langchain.policy.egress import EgressPolicy
    from toolgate_langchain.policy.flow import FlowPolicy
    from toolgate_langchain.policy.history import ResultLabel
    from toolgate_langchain.policy.resources import ResourcePolicy
    from toolgate_langchain.policy.surface import Surface
    from toolgate_langchain.policy.unattended import UnattendedToolFilter
    from toolgate_langchain.ui.console import ConsoleApprover
    from toolgate_langchain.vocabulary import DataClass, Tier, TrustZone, Verdict

__all__ = [
    "AlreadyAnsweredError",
    "ApprovalAnswer",
    "ApprovalRequest",
    "ApprovalRule",
    "ApprovalSession",
    "Approver",
    "Caller",
    "ConfigurationError",
    "ConsoleApprover",
    "DataAboveZoneError",
    "DataClass",
    "Decision",
    "Declaration",
    "EgressPolicy",
    "FlowPolicy",
    "GatedAgent",
    "HeuristicError",
    "InMemoryLedger",
    "InvalidAnswerError",
    "LedgerError",
    "MissingExtraError",
    "RecordError",
    "Remember",
    "RemoteServer",
    "ResourcePolicy",
    "ResultLabel",
    "RunConfiguration",
    "SessionError",
    "Skill",
    "SqlLedger",
    "StandingRule",
    "Surface",
    "Tier",
    "ToolApprovalRequired",
    "ToolCatalog",
    "ToolGate",
    "ToolGateError",
    "ToolGateMiddleware",
    "ToolGateWarning",
    "ToolProfile",
    "TrustZone",
    "TurnLimitReached",
    "UnattendedToolFilter",
    "Verdict",
    "adrive",
    "aresume_answered",
    "drive",
    "export_record",
    "gate_subagents",
    "mask_traces",
    "pending_requests",
    "replay_record",
    "resume_answered",
    "tool_profile",
    "well_known_profiles",
]

_WHERE = {
    "AlreadyAnsweredError": "errors",
    "ApprovalAnswer": "approvals.answer",
    "ApprovalRequest": "approvals.request",
    "ApprovalRule": "policy.approval_rule",
    "ApprovalSession": "hosts.gated.session",
    "Approver": "approvals.approver",
    "Caller": "policy.caller",
    "ConfigurationError": "errors",
    "ConsoleApprover": "ui.console",
    "DataAboveZoneError": "errors",
    "DataClass": "vocabulary",
    "Decision": "policy.decision",
    "Declaration": "catalog.remote",
    "EgressPolicy": "policy.egress",
    "FlowPolicy": "policy.flow",
    "GatedAgent": "hosts.gated.agent",
    "HeuristicError": "errors",
    "InMemoryLedger": "approvals.memory_ledger",
    "InvalidAnswerError": "errors",
    "LedgerError": "errors",
    "MissingExtraError": "errors",
    "RecordError": "errors",
    "Remember": "approvals.answer",
    "RemoteServer": "catalog.remote",
    "ResourcePolicy": "policy.resources",
    "ResultLabel": "policy.history",
    "RunConfiguration": "policy.caller",
    "SessionError": "errors",
    "Skill": "policy.caller",
    "SqlLedger": "approvals.sql.ledger",
    "StandingRule": "approvals.rules",
    "Surface": "policy.surface",
    "Tier": "vocabulary",
    "ToolApprovalRequired": "errors",
    "ToolCatalog": "catalog.catalog",
    "ToolGate": "hosts.gate",
    "ToolGateError": "errors",
    "ToolGateMiddleware": "hosts.langgraph.middleware",
    "ToolGateWarning": "errors",
    "ToolProfile": "catalog.profile",
    "TrustZone": "vocabulary",
    "TurnLimitReached": "errors",
    "UnattendedToolFilter": "policy.unattended",
    "Verdict": "vocabulary",
    "adrive": "hosts.langgraph.driving",
    "aresume_answered": "hosts.langgraph.resuming",
    "drive": "hosts.langgraph.driving",
    "export_record": "approvals.recording.lines",
    "gate_subagents": "hosts.inside.subagents",
    "mask_traces": "hosts.tracing",
    "pending_requests": "hosts.langgraph.driving",
    "replay_record": "approvals.recording.replay",
    "resume_answered": "hosts.langgraph.resuming",
    "tool_profile": "catalog.profile",
    "well_known_profiles": "catalog.wellknown",
}

_EXTRAS = {"langchain": "agents", "langgraph": "agents", "rich": "console", "sqlalchemy": "sql"}
"""The extra that brings an optional library."""

_NEEDS = {
    "SqlLedger": "sqlalchemy",
    "ToolGateMiddleware": "langchain",
    "adrive": "langgraph",
    "aresume_answered": "langgraph",
    "drive": "langgraph",
    "gate_subagents": "langchain",
    "pending_requests": "langgraph",
    "resume_answered": "langgraph",
}
"""The optional library that a name cannot be loaded without."""


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ImportError:
        return False


# What is named with a star is what can be loaded here; any other name says which extra brings it, when it is used.
for _name in [name for name, library in _NEEDS.items() if not _is_installed(library)]:
    __all__.remove(_name)


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used.

    Raises:
        MissingExtraError: (an `ImportError`) if the name needs a library that an extra brings.
    """
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(f"{__name__}.{where}"), name)
    except ImportError as error:
        extra = getattr(error, "extra", None) or _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        from toolgate_langchain.errors import MissingExtraError

        raise MissingExtraError(f"{__name__}.{name}", extra) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
