"""One worker of a soak. Reads what it is to do as JSON, and prints as JSON what came of it."""

import json
import sys

from tests.ledger.soaking import finish_share, soak_share

given = json.loads(sys.stdin.read())
done = finish_share(given) if "share" in given else soak_share(given)
print(json.dumps(done))  # noqa: T201
