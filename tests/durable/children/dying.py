"""Lets workers die at steps of a conversation, in turn; says how many steps there were, and what was found.

Before its workers are forked off it, this process holds no connection and no thread any more.
"""

import json
import sys
import warnings
from itertools import chain, count
from pathlib import Path

from tests.durable.crash import every_point

given = json.load(sys.stdin)
# Who dies without another word leaves its connections to be found.
warnings.simplefilter("ignore", ResourceWarning)
root, url, form = Path(given["folder"]), given["url"], given["form"]
points, faults = every_point(
    root,
    url,
    form,
    numbers=chain(given["numbers"], count(given["all_from"])),
    calls=(("send", "a"),),
    changes=True,
    asynchronous=given["asynchronous"],
)
print(json.dumps({"points": points, "faults": faults}))  # noqa: T201
