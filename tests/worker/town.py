"""A small town to work in: an embedded forge with people, a store, real git, an agent that plays a script.

Everything is real but the model, the sandbox (plain processes) and the clock, which moves when it is told.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from domain.budget import Caps
from domain.claim import Claim, Restatement
from domain.events import Event
from domain.model import (
    Attempt,
    Category,
    CommandResult,
    Comment,
    IssueRef,
    Money,
    Outcome,
    Permission,
    Price,
    Reason,
    Repository,
    Task,
)
from domain.policy import MAX_RECOVERIES, Serving, admit
from domain.ports import (
    Admission,
    Agent,
    AgentReport,
    Brief,
    Delivery,
    Forge,
    Ledger,
    Meter,
    Observer,
    PriceList,
    Sandbox,
    SandboxPolicy,
    SandboxSession,
    TaskQueue,
)
from domain.states import State
from domain.text import Redactor
from harness.agent.scripted import ScriptedAgent
from harness.attempt import Bench
from harness.git import GitRunner
from harness.localize import NullLocalizer
from harness.receipt_key import ReceiptKey
from harness.workspace import Workspaces
from providers.local.forge import LocalForge
from providers.local.people import LocalWorld
from providers.local.plugin import LocalProvider
from store.contracts import SqliteContracts
from store.database import Database
from store.documents import event_from
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.receipts import SqliteReceipts
from store.reviews import SqliteReviews
from store.tasks import SqliteTaskQueue
from store.watches import SqliteWatches
from tests.harness.testing.doubles import PATH, PlainSession
from tests.store.makers import SetClock
from worker.errands import ErrandDesk
from worker.loop import Loop
from worker.model_pause import ModelPause
from worker.new_commands import NewCommandDesk
from worker.raising import BudgetDesk
from worker.receipts import ReceiptClerk
from worker.review_desk import ReviewDesk
from worker.signals import SignalDesk
from worker.status_desk import StatusDesk
from worker.task_work import Shop, transcript_path
from worker.waiting_room import WaitingRoom

MEMORY = 321 * 2**20
"""Bytes that the operator of these towns grants a command."""

PRICE = Price(input=Money("0.000001"), output=Money("0.000004"), source="tests")
CLAIM = Claim(root_cause="It doubled by adding.", changes="It multiplies now.", test_commands=["pytest -q"])
CLEAR = Restatement(expected="10", actual="7", confidence=0.9)
UNCLEAR = Restatement(expected="?", actual="?", confidence=0.2, questions=["Which rounding is meant?"])
CATEGORIES = {category.value: category for category in Category}

BUGGY = "def double(x):\n    return x + 2\n"
_CASE = (
    "import unittest\n\nfrom calc import double\n\n\n"
    "class Test{0}(unittest.TestCase):\n    def test_it(self):\n"
)
_CASE_OF_TWO = _CASE.format("Two") + "        self.assertEqual(double(2), 4)\n"
_CASE_OF_FIVE = _CASE.format("Five") + "        self.assertEqual(double(5), 10)\n"
CALC = {"calc.py": BUGGY, "test_calc.py": _CASE_OF_TWO}
"""A small library with a bug, and a suite (unittest: it starts quickly) that does not see it."""

PYTEST_CALC = {
    "calc.py": BUGGY,
    "test_calc.py": "from calc import double\n\n\ndef test_two():\n    assert double(2) == 4\n",
}
PYTEST_SHOW = (
    "printf 'from calc import double\n\n\ndef test_five():\n    assert double(5) == 10\n' > test_five.py"
)
FIX = "printf 'def double(x):\\n    return x * 2\\n' > calc.py"
SHOW = f"cat > test_five.py <<'END'\n{_CASE_OF_FIVE}END"
WRONG_FIX = "printf 'def double(x):\\n    return x + 5\\n' > calc.py"
CHEAT = "sed -i 's/self.assertEqual.*/pass/' test_calc.py"

NOTES = {"README.md": "# Lamp\n\nIt has no tests.\n"}
WRITE = "printf '# Lamp\\n\\nIt has no tests yet.\\n' > README.md"
"""A repository and a change whose verification runs nothing: documentation where there are no tests."""


def caps(**changes: Any) -> Caps:
    values: dict[str, Any] = {
        "max_iterations": 50,
        "max_cost_per_task_usd": Money(5),
        "max_raised_cost_per_task_usd": Money(8),
        "max_daily_cost_usd": Money(10),
        "max_daily_cost_total_usd": Money(20),
        "max_minutes": 60,
        "max_attempts": 2,
    }
    return Caps(**(values | changes))


@dataclass
class Stage:
    """A sandbox of plain processes that gives cues: `cues[text]` is called when a command with it begins."""

    cues: dict[str, Callable[[], object]] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    policies: list[SandboxPolicy] = field(default_factory=list)
    isolation: str = "none (test double)"

    def self_test(self) -> None:
        pass

    def open(self, policy: SandboxPolicy) -> SandboxSession:
        self.policies.append(policy)
        return StageSession(self, policy)

    def began(self, command: str) -> None:
        self.commands.append(command)
        for text in [text for text in self.cues if text in command]:
            self.cues.pop(text)()


class StageSession(PlainSession):
    """Like its parent, and can be stopped from any thread, before or while a command runs."""

    def __init__(self, stage: Stage, policy: SandboxPolicy) -> None:
        super().__init__(policy, PATH)
        self._stage, self._stopped = stage, False
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        env = {name: self._placed(value) for name, value in self._policy.env.items()}
        started = time.monotonic()
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", self._placed(command)],
            cwd=self._policy.writable,
            env={"PATH": PATH, "HOME": "/nonexistent", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._stage.began(command)
        if self._stopped:
            self.stop()
        output, _ = self._process.communicate(timeout=deadline_seconds)
        seconds = time.monotonic() - started
        text = output.decode("utf-8", "replace")
        return CommandResult(
            command=command, exit_code=self._process.returncode, output=text, seconds=seconds
        )

    def stop(self) -> None:
        self._stopped = True
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)


@dataclass
class Cast:
    """An agent for each attempt, in turn; the last one plays again. Remembers what each was told."""

    agents: Sequence[Agent]
    briefs: list[Brief] = field(default_factory=list)

    def prestart(self) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        self.briefs.append(brief)
        agent = self.agents[min(len(self.briefs), len(self.agents)) - 1]
        return agent.run(brief, session, meter, observer)


def plays(*commands: str, claim: Claim | None = CLAIM, said: Restatement | None = None) -> ScriptedAgent:
    """Return an agent that runs these commands and hands in a report."""
    return ScriptedAgent(commands, claim, restatement=said)


class NoBell:
    """A listener for loops that are turned by hand."""

    def wait(self, timeout: float) -> bool:
        raise AssertionError("a loop that is turned by hand waits for nothing")


class Town:
    """One repository, its people, and everything the service keeps, under one directory."""

    def __init__(self, root: Path, template: Path, files: Mapping[str, str] | None, **settings: Any) -> None:
        self.root, self.clock = root, SetClock()
        self.world = LocalWorld(root / "forge")
        self.maintainer = self.world.create_user("mika")
        self.stranger = self.world.create_user("stranger")
        self.repository: Repository = self.world.create_repository(
            "acme/lamp", files=_as_bytes(files), **settings
        )
        self.world.grant(self.repository.id, self.maintainer, Permission.WRITE)
        self.database_path = root / "fixwright.db"
        self.database_path.write_bytes(template.read_bytes())
        self.secrets = Redactor()
        self._told: set[str] = set()
        self.reopen()

    def reopen(self) -> None:
        """Open the store anew, as a new process would."""
        self.database = Database(self.database_path)
        self.database.migrate()
        self.queue = SqliteTaskQueue(self.database, self.clock)
        self.contracts = SqliteContracts(self.database, self.clock)
        self.ledger = SqliteLedger(self.database, self.clock)
        self.inbox = SqliteInbox(self.database, CATEGORIES)
        self.serving = Serving(
            repositories=frozenset({"local:acme/lamp"}),
            own_ids={"local": self.world.bot.id},
            labels=CATEGORIES,
            own_labels=self.contracts.labels_of,
        )

    def close(self) -> None:
        self.database.close()

    # -- people -------------------------------------------------------------------------------------

    def issue(
        self, label: str = "bug", title: str = "double(5) is 7", body: str = "I expect 10."
    ) -> IssueRef:
        """Let the maintainer open an issue, label it, and the forge tell us."""
        issue = self.world.open_issue(self.repository.id, self.stranger, title=title, body=body)
        self.world.label(issue, self.maintainer, label)
        self.deliver()
        return issue

    def comment(self, issue: IssueRef, text: str, *, by: Any = None) -> None:
        """Let somebody (the maintainer) write a comment, and the forge tell us."""
        self.world.comment(issue, by or self.maintainer, text)
        self.deliver()

    def deliver(self, *, swapped: bool = False) -> None:
        """Bring what the forge has to tell through the front door's parser into the inbox."""
        dialect = LocalProvider().dialect()
        batch = []
        hooks = self.world.deliveries()
        for hook in reversed(hooks) if swapped else hooks:
            if hook.guid in self._told:
                continue
            self._told.add(hook.guid)
            headers = [
                (b"x-fixwright-event", hook.event.encode()),
                (b"x-fixwright-delivery", hook.guid.encode()),
            ]
            batch.append(
                Delivery(
                    provider="local",
                    delivery_id=hook.guid,
                    body_sha256=hashlib.sha256(hook.payload).hexdigest(),
                    body=hook.payload,
                    received_at=self.clock.now(),
                    event=dialect.parse(hook.payload, headers),
                )
            )
        self.inbox.accept(batch, lambda event: admit(event, self.serving))

    # -- the service --------------------------------------------------------------------------------

    def loop(
        self,
        *agents: Agent,
        caps: Caps | None = None,
        sandbox: Sandbox | None = None,
        forge: Forge | None = None,
        queue: TaskQueue | None = None,
        ledger: Ledger | None = None,
        runner: GitRunner | None = None,
        price_of: PriceList | None = None,
        life: str = "one",
        beat_seconds: float = 60.0,
        max_task_retries: int = MAX_RECOVERIES,
    ) -> Loop:
        """Put a worker together. By default its supervisor's first beat comes after the test."""
        forges = {"local": forge or LocalForge(self.root / "forge")}
        queue = queue or self.queue
        runner = runner or GitRunner(self.root / "git-home", redact=self.secrets)
        self.workspaces = Workspaces(self.root / "ground", None, runner)
        self.cast = Cast(agents)
        bench = Bench(
            sandbox=sandbox or Stage(),
            workspaces=self.workspaces,
            agent=self.cast,
            localizer=NullLocalizer(),
            limits=lambda place: SandboxPolicy(
                writable=place.tree, scratch=place.scratch, memory_bytes=MEMORY
            ),
        )
        budget = BudgetDesk(ledger=self.ledger, forges=forges, caps=caps or globals()["caps"]())
        commands = NewCommandDesk(inbox=self.inbox, forges=forges, clock=self.clock, queue=queue)
        errands = ErrandDesk(queue, forges, self.serving, clock=self.clock, commands=commands)
        errands.inbox = self.inbox
        self.reviews = SqliteReviews(self.database, self.clock)
        desk = SignalDesk(queue, forges, self.serving, budget, errands=errands, clock=self.clock)
        desk.reviews = ReviewDesk(
            queue=queue, forges=forges, reviews=self.reviews, clock=self.clock, wait_seconds=20
        )
        shop = Shop(
            queue=queue,
            ledger=ledger or self.ledger,
            forges=forges,
            bench=bench,
            clock=self.clock,
            desk=desk,
            caps=caps or globals()["caps"](),
            model="openai/scripted",
            price_of=price_of or (lambda model: PRICE),
            transcripts=self.root / "transcripts",
            redact=self.secrets,
            receipts=self.clerk(ledger or self.ledger),
            watches=SqliteWatches(self.database, self.clock),
            reviews=self.reviews,
            serving=self.serving,
            contracts=self.contracts,
            lease_seconds=60,
            beat_seconds=beat_seconds,
            max_task_retries=max_task_retries,
            pause=ModelPause(self.clock),
            waiting=WaitingRoom(
                queue=queue,
                forges=forges,
                desk=StatusDesk(queue=queue, ledger=self.ledger, caps=caps or globals()["caps"]()),
                serving=self.serving,
                clock=self.clock,
                redact=self.secrets,
            ),
        )
        return Loop(shop, NoBell(), identity=f"worker/{life}", poll_seconds=5)

    def clerk(self, ledger: Ledger) -> ReceiptClerk:
        """Return who writes the receipts, with a key of this world."""
        return ReceiptClerk(
            receipts=SqliteReceipts(self.database, self.clock),
            signer=lambda: ReceiptKey(self.root),
            ledger=ledger,
            clock=self.clock,
            redact=self.secrets,
            model="openai/scripted",
            version="0",
            isolation=lambda: "scripted",
            transcript=partial(transcript_path, self.root / "transcripts"),
        )

    # -- what has become of it ----------------------------------------------------------------------

    @property
    def task(self) -> Task:
        (task,) = self.queue.tasks()
        return task

    @property
    def attempts(self) -> list[Attempt]:
        return self.queue.attempts(self.task.id)

    @property
    def outcomes(self) -> list[Outcome | None]:
        return [attempt.outcome for attempt in self.attempts]

    @property
    def stands(self) -> tuple[State, Reason | None]:
        return self.task.state, self.task.reason

    @property
    def branches(self) -> dict[str, str]:
        """Every branch but the default one."""
        found = self.world.git.branches(self.repository.id)
        return {name: sha for name, sha in found.items() if name != self.repository.default_branch}

    def said(self, issue: IssueRef) -> list[Comment]:
        """Our comments."""
        return [c for c in self.world.comments(issue) if c.author.id == self.world.bot.id]

    def text(self, issue: IssueRef) -> str:
        """All that we said, as one text."""
        return "\n\n".join(comment.body for comment in self.said(issue))

    def decisions(self) -> list[str]:
        """What became of every signal, oldest first."""
        with self.database.read() as connection:
            rows = connection.execute("SELECT decision FROM signals ORDER BY id").fetchall()
        return [row["decision"] for row in rows]

    def all_signals(self) -> list[Event]:
        """Every signal's event, oldest first."""
        with self.database.read() as connection:
            rows = connection.execute("SELECT kind, event FROM signals ORDER BY id").fetchall()
        return [event_from(row["kind"], row["event"]) for row in rows]

    def tell(self, event: Event, key: str, wish: Admission | None = None) -> None:
        """Bring one event to the inbox under a delivery id of its own; `wish` is what the policy says."""
        delivery = Delivery(
            provider="local",
            delivery_id=key,
            body_sha256=hashlib.sha256(key.encode()).hexdigest(),
            body=b"{}",
            received_at=self.clock.now(),
            event=event,
        )
        self.inbox.accept([delivery], lambda event: wish or admit(event, self.serving))

    def transcript(self) -> str:
        """Every transcript's text."""
        files = sorted((self.root / "transcripts").glob("*.jsonl"))
        return "".join(path.read_text() for path in files)


def _as_bytes(files: Mapping[str, str] | None) -> dict[str, bytes] | None:
    return None if files is None else {path: text.encode() for path, text in files.items()}
