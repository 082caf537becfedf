"""Lets processes race for the answers of paused threads; says what was wrong in the end.

This process opens nothing itself, so that the others are forked off one that holds no connection and no thread.
"""

import json
import sys
import warnings
from pathlib import Path

from tests.durable.race import race

given = json.load(sys.stdin)
warnings.simplefilter("ignore", ResourceWarning)
root, url = Path(given["folder"]), given["url"]
print(json.dumps({"found": race(root, url, processes=given["processes"], threads=given["threads"])}))  # noqa: T201
