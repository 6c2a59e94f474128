"""Sends a part of the plan from a process of its own, at full speed, and reports each answer."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from evals.door_load import Answer, Deliveries, Load, Origin
from evals.load_plan import ASKING, OTHER, Sending
from evals.processes import python

SENDERS = 2


@dataclass(frozen=True, slots=True)
class Sent:
    """A sending and what was answered: status, the door's decision (or ""), seconds until the answer."""

    sending: Sending
    status: int
    decision: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the load goes, as whom."""

    port: int
    secret: str
    origin: Origin
    connections: int


def send(target: Target, sendings: Sequence[Sending]) -> tuple[list[Sent], float]:
    """Send everything from two processes; return the answers, and the seconds that the slower one took.

    Raises SystemExit when a server does not answer.
    """
    share = max(1, target.connections // SENDERS)
    processes = []
    for index in range(SENDERS):
        order = {
            "target": asdict(replace(target, connections=share)),
            "sendings": [asdict(sending) for sending in sendings[index::SENDERS]],
        }
        processes.append(python("evals.load_sender", say=json.dumps(order)))
    sent: list[Sent] = []
    span = 0.0
    for index, process in enumerate(processes):
        report, _ = process.communicate(timeout=300)
        if process.returncode:
            raise SystemExit("a sender failed")
        answers = json.loads(report)
        span = max(span, answers["span"])
        mine = sendings[index::SENDERS]
        sent += [Sent(mine[place], status, said, took) for place, status, said, took in answers["answers"]]
    return sent, span


def _requests(deliveries: dict[str, Deliveries], sendings: Sequence[Sending]) -> Iterator[bytes]:
    for sending in sendings:
        make = deliveries[sending.label]
        yield make.request(sending.number, sending.delivery_id, well_signed=sending.well_signed)


def _decision(answer: Answer) -> str:
    try:
        said = json.loads(answer.body)
    except ValueError:
        return ""
    return str(said.get("decision", "")) if isinstance(said, dict) else ""


def main() -> int:
    """Read an order from standard input, carry it out, print what came back."""
    order = json.loads(sys.stdin.readline())
    target = order["target"]
    origin = Origin(**target["origin"])
    deliveries = {
        label: Deliveries(target["secret"].encode("ascii"), replace(origin, label=label))
        for label in (ASKING, OTHER)
    }
    sendings = [Sending(**fields) for fields in order["sendings"]]
    load = Load(target["port"], list(_requests(deliveries, sendings)))
    began = time.perf_counter()
    answers = load.run(target["connections"])
    span = time.perf_counter() - began
    rows = [(each.place, each.status, _decision(each), each.seconds) for each in answers]
    sys.stdout.write(json.dumps({"span": span, "answers": rows}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
