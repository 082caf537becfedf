"""What processes that are forked from the tests' server find loaded; the server loads it once."""

import gc

import langchain.agents
import langchain_openai
import langgraph.checkpoint.memory
import langgraph.checkpoint.sqlite.aio
import psycopg
import sqlalchemy.dialects.postgresql
import sqlalchemy.dialects.sqlite
import vcr

import tests.support
import toolgate_langchain.approvals.sql.ledger
import toolgate_langchain.cli.app
import toolgate_langchain.cli.demo
import toolgate_langchain.hosts.gated.agent
import toolgate_langchain.hosts.graphs.graph
import toolgate_langchain.hosts.inside.inner_agents
import toolgate_langchain.hosts.inside.subagents
import toolgate_langchain.hosts.langgraph.driving
import toolgate_langchain.hosts.langgraph.middleware
import toolgate_langchain.ui.console
from tests.cores import all_cores

__all__ = ["langchain", "langchain_openai", "langgraph", "psycopg", "sqlalchemy", "tests", "toolgate_langchain", "vcr"]

# No child looks for garbage in it, which would also copy what it shares with the others.
gc.freeze()
# The worker that starts the server keeps to one core; processes that meet on purpose are to meet in every way.
all_cores()
