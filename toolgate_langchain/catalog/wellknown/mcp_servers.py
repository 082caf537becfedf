"""The reference servers of the Model Context Protocol, by the package that starts each.

For an operator who starts a server from that package and says so:
`RemoteServer("files", launch=..., profiles=well_known_profiles("@modelcontextprotocol/server-filesystem"))`.
Never applied by itself: a server can give its tools any names, and its code is not seen here.
Looked at: the npm packages in version 2026.8.31, those from PyPI in 2026.10.10 (2026.10.19 and
fetch 2026.10.24 have the same tools).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolgate_langchain.catalog.wellknown.record import WellKnownTool, consequential, read_only, routine
from toolgate_langchain.vocabulary import DataClass

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SERVERS"]

_RUNS_HELPERS: Final = "reads, but runs programs that the repository's own configuration names"

_FILESYSTEM: Final = (
    read_only("read_file", "reads one file of the allowed folders"),
    read_only("read_text_file", "reads one file of the allowed folders"),
    read_only("read_media_file", "reads one file of the allowed folders"),
    read_only("read_multiple_files", "reads files of the allowed folders"),
    read_only("list_directory", "lists a folder"),
    read_only("list_directory_with_sizes", "lists a folder"),
    read_only("directory_tree", "lists a folder and all below it"),
    read_only("search_files", "lists file names that match"),
    read_only("get_file_info", "tells a file's size and times"),
    read_only("list_allowed_directories", "tells the server's own configuration"),
    routine("create_directory", "makes a folder and replaces nothing", idempotent=True),
    consequential("write_file", "replaces a file's content without a copy"),
    consequential("edit_file", "changes a file in place without a copy"),
    consequential("move_file", "takes a file or a folder away from where it is looked for"),
)

_GIT: Final = (
    routine("git_status", _RUNS_HELPERS, standing="arguments"),
    routine("git_diff_unstaged", _RUNS_HELPERS, standing="arguments"),
    routine("git_diff_staged", _RUNS_HELPERS, standing="arguments"),
    routine("git_diff", _RUNS_HELPERS, standing="arguments"),
    routine("git_show", _RUNS_HELPERS, standing="arguments"),
    read_only("git_log", "reads the history"),
    read_only("git_branch", "lists branches"),
    routine("git_add", "stages files; their content is kept"),
    routine("git_commit", "adds a local commit, which can be taken back; nothing is pushed"),
    routine("git_create_branch", "adds a local branch, which can be taken back"),
    consequential("git_reset", "drops what was staged, which may exist nowhere else"),
    consequential("git_checkout", "replaces the files in the work tree, ignored ones without asking"),
)

_FETCH: Final = (
    routine(
        "fetch",
        "fetches any address, and can carry data away in it",
        egress="open",
        endpoints=("url",),
        standing="arguments",
    ),
)

_MEMORY: Final = (
    read_only("read_graph", "reads the server's memory"),
    read_only("search_nodes", "searches the server's memory"),
    read_only("open_nodes", "reads the server's memory"),
    routine("create_entities", "adds to a memory that later conversations read; can be deleted again"),
    routine("create_relations", "adds to a memory that later conversations read; can be deleted again"),
    routine("add_observations", "adds to a memory that later conversations read; can be deleted again"),
    consequential("delete_entities", "deletes from the memory for good"),
    consequential("delete_observations", "deletes from the memory for good"),
    consequential("delete_relations", "deletes from the memory for good"),
)

_TIME: Final = (
    read_only("get_current_time", "tells the time", data_class=DataClass.PUBLIC),
    read_only("convert_time", "computes from its arguments alone", data_class=DataClass.PUBLIC),
)

_SEQUENTIAL_THINKING: Final = (
    read_only(
        "sequentialthinking",
        "keeps the model's own thoughts while the server runs",
        data_class=DataClass.PUBLIC,
    ),
)

_EVERYTHING: Final = (
    read_only("echo", "gives back what it is given", data_class=DataClass.PUBLIC),
    read_only("get-annotated-message", "gives back a fixed text", data_class=DataClass.PUBLIC),
    read_only(
        "get-env",
        "changes nothing, but shows every environment variable, passwords and keys included",
        data_class=DataClass.SECRET,
        requires_approval=True,
    ),
    read_only("get-resource-links", "gives back made-up links", data_class=DataClass.PUBLIC),
    read_only("get-resource-reference", "gives back a made-up resource", data_class=DataClass.PUBLIC),
    read_only("get-roots-list", "tells which folders the client announced"),
    read_only("get-structured-content", "gives back made-up weather", data_class=DataClass.PUBLIC),
    read_only("get-sum", "computes from its arguments alone", data_class=DataClass.PUBLIC),
    read_only("get-tiny-image", "gives back a fixed picture", data_class=DataClass.PUBLIC),
    read_only("trigger-long-running-operation", "waits", data_class=DataClass.PUBLIC),
    routine(
        "gzip-file-as-resource",
        "fetches any address, and can carry data away in it",
        egress="open",
        standing="arguments",
    ),
    routine("toggle-simulated-logging", "switches messages of this session on and off"),
    routine("toggle-subscriber-updates", "switches messages of this session on and off"),
    routine("simulate-research-query", "may put a question to the person"),
    routine("trigger-elicitation-request", "puts a form to the person"),
    routine("trigger-elicitation-request-async", "puts a form to the person"),
    routine("trigger-sampling-request", "gives the client's model a text of its own choice"),
    routine("trigger-sampling-request-async", "gives the client's model a text of its own choice"),
    consequential("trigger-url-elicitation", "sends the person to an address of the model's choice", egress="open"),
)

SERVERS: Final[Mapping[str, tuple[WellKnownTool, ...]]] = {
    "@modelcontextprotocol/server-filesystem": _FILESYSTEM,
    "mcp-server-git": _GIT,
    "mcp-server-fetch": _FETCH,
    "@modelcontextprotocol/server-memory": _MEMORY,
    "mcp-server-time": _TIME,
    "@modelcontextprotocol/server-sequential-thinking": _SEQUENTIAL_THINKING,
    "@modelcontextprotocol/server-everything": _EVERYTHING,
}
