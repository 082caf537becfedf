"""Stands for a server that a client starts as a child process: the server is forked off `hatchery.py`.

`hatched.py SOCKET COMMAND...`. The server has this process's own streams, its environment and its folder, is ended
where this one is, and this one ends as the server does. It loads next to nothing itself.
"""

import json
import os
import signal
import socket
import sys

where, *command = sys.argv[1:]
with socket.socket(socket.AF_UNIX) as asking:
    asking.connect(where)
    given = {"command": command, "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109
    socket.send_fds(asking, [json.dumps(given).encode()], [0, 1, 2])
    told = asking.makefile()
    server = int(told.readline())
    signal.signal(signal.SIGTERM, lambda *_: os.kill(server, signal.SIGTERM))
    # Whoever reads the server's output waits for its end, and for nobody else's.
    for stream in (0, 1):
        os.close(stream)
    sys.exit(int(told.readline() or 1))
