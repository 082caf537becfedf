"""The command where a library is not installed: its first argument is the library's name.

The package is loaded anew, so that it looks for the library as it does in a process that has loaded nothing.
"""

import sys

missing = sys.argv.pop(1)
for name in list(sys.modules):
    if name.partition(".")[0] in (missing, "toolgate_langchain"):
        del sys.modules[name]
sys.modules[missing] = None  # type: ignore[assignment]

from toolgate_langchain.cli import main  # noqa: E402

main()
