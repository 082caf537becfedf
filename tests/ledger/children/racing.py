"""One of several processes that begin on an empty database at the same moment and want the same.

Says "ready", waits for a line on its input, and prints what it got.
"""

import json
import sys

from toolgate_langchain import ApprovalAnswer, SqlLedger
from toolgate_langchain.approvals.attempts import CallStart

url, rounds = sys.argv[1], int(sys.argv[2])
ledger = SqlLedger(url)
print("ready", flush=True)  # noqa: T201
sys.stdin.readline()
got = []
for number in range(rounds):
    key = f"r{number}"
    answered = ledger.answer(key, ApprovalAnswer(type="approve"))
    ledger.grant(key, "d")
    claimed = ledger.claim(key)
    started = ledger.start(CallStart(key, "d", needs_grant=True, repeatable=False))
    first = ledger.start(CallStart(f"unasked-{key}", "d", needs_grant=False, repeatable=False))
    got.append([answered.value, claimed, started.value, first.value])  # type: ignore[union-attr]
print(json.dumps(got))  # noqa: T201
