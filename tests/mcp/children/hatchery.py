"""Has loaded what MCP servers load, and forks one off for each that asks; see `hatched.py`.

Who asks at its socket sends a command line, an environment, a folder and three streams. They hear the new process's id,
and in the end its exit code.
"""

import json
import os
import runpy
import signal
import socket
import sys
import traceback
from typing import Any

import mcp.server.fastmcp
import mcp.server.stdio
import uvicorn

__all__ = ["mcp", "uvicorn"]


def hatch(given: dict[str, Any], streams: list[int]) -> int:
    """Be the process that was asked for, to its end.

    Returns:
        Its exit code.
    """
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(given["environment"])
    os.chdir(given["folder"])
    script, *arguments = given["command"]
    code: object = 0
    try:
        if script == "-m":
            module, *arguments = arguments
            sys.argv = [module, *arguments]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            sys.argv = [script, *arguments]
            runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    return code if isinstance(code, int) else int(code is not None)


def main() -> None:
    """Fork until it is killed."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        print("ready", flush=True)  # noqa: T201
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            asking, _ = listening.accept()
            said, streams, _, _ = socket.recv_fds(asking, 1_000_000, 3)
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                code = hatch(json.loads(said), streams)
                asking.sendall(f"{code}\n".encode())
                os._exit(code)
            asking.sendall(f"{child}\n".encode())
            asking.close()
            for stream in streams:
                os.close(stream)


main()
