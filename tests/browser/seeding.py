"""Fills a data directory with a month of a small shop's life, for pages to have something to show."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain.claim import Claim, Restatement
from domain.envelope import signed_bytes, wrap
from domain.events import Event, IssueLabelled, PullClosed, Uninteresting
from domain.model import (
    Actor,
    Attempt,
    Category,
    Finding,
    IssueRef,
    Outcome,
    Phase,
    PublicationKind,
    Pull,
    Reason,
    RunStatus,
    Severity,
    Suspect,
    Task,
    TestRun,
    Usage,
    Verdict,
)
from domain.ports import Admission, Delivery, Intent, Landing
from domain.receipt import ReceiptFacts, TranscriptMark, hash_of, payload_of
from domain.states import Trigger
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.receipts import SqliteReceipts
from store.tasks import SqliteTaskQueue

HOSTILE = (
    '<img src=x onerror="window.hit=1"><script>window.hit=1</script>\'"></title>{{7*7}}javascript:alert(1)'
)
"""What an attacker would put wherever text is taken."""

MODEL, CHEAPER = "anthropic/claude-sonnet-4-5", "openai/gpt-5-mini"

PATCH = '''diff --git a/fairshare/split.py b/fairshare/split.py
index 3f1c2a1..8a7b0c9 100644
--- a/fairshare/split.py
+++ b/fairshare/split.py
@@ -4,9 +4,9 @@
 def split_evenly(total_cents, people):
     """Return what each of `people` pays of `total_cents`, largest shares first."""
     if people < 1:
         raise ValueError("a bill needs at least one person to pay it")
-    share = total_cents // people
-    return [share] * people
+    share, odd_cents = divmod(total_cents, people)
+    return [share + 1] * odd_cents + [share] * (people - odd_cents)


 def split_by_weight(total_cents, weights):
diff --git a/tests/test_split.py b/tests/test_split.py
index 1c0ffee..2badf00 100644
--- a/tests/test_split.py
+++ b/tests/test_split.py
@@ -10,3 +10,11 @@ def test_nobody_cannot_pay():
         split_evenly(100, 0)


+@pytest.mark.parametrize("people", [1, 3, 7, 64])
+def test_the_shares_add_up_to_the_bill(people):
+    shares = split_evenly(10000, people)
+    assert sum(shares) == pytest.approx(10000, abs=1)
+    assert max(shares) - min(shares) <= 1
+
+
 def test_one_person_pays_all():
     assert split_evenly(100, 1) == [100]
'''

STEPS = (
    (
        "First the function that the issue names, and who uses it.",
        "view fairshare/split.py 1-12; search split_evenly .",
        0,
        '     4\tdef split_evenly(total_cents, people):\n     5\t    """What each one pays."""\n'
        "     8\t    share = total_cents // people\n     9\t    return [share] * people\n\n"
        "./fairshare/split.py:4\n./fairshare/bill.py:31\n./tests/test_split.py:7",
    ),
    (
        "Integer division drops the remainder. Let me see it fail.",
        "python3 -c 'from fairshare import split_evenly as s; print(sum(s(10000, 3)))'",
        0,
        "9999",
    ),
    (
        "Hand the remainder out, one cent each, to the first ones, as the docstring promises.",
        "edit fairshare/split.py <<'EDIT'\n<<<<<<< OLD\n    share = total_cents // people\n"
        "    return [share] * people\n=======\n    share, odd_cents = divmod(total_cents, people)\n"
        "    return [share + 1] * odd_cents + [share] * (people - odd_cents)\n>>>>>>> NEW\nEDIT",
        0,
        "edited fairshare/split.py: 1 block replaced",
    ),
    (
        "A test that fails without the fix.",
        "python3 -m pytest -q tests/test_split.py",
        1,
        "F..                                                        [100%]\n"
        "E   NameError: name 'pytest' is not defined\n1 failed, 2 passed in 0.04s",
    ),
    ("The import was missing. Now the whole suite.", "python3 -m pytest -q", 0, "18 passed in 0.21s"),
)


@dataclass
class Hands:
    """A clock that is set by hand."""

    moment: datetime

    def now(self) -> datetime:
        self.moment += timedelta(milliseconds=400)
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()


class Seed:
    """Makes tasks and takes them through their lives, at times of its own choosing."""

    def __init__(self, data_dir: Path, now: datetime, hostile: str = HOSTILE) -> None:
        self.hostile = hostile
        data_dir.mkdir(parents=True, exist_ok=True)
        self.data_dir, self.now = data_dir, now
        self.database = Database(data_dir / "fixwright.sqlite3")
        self.database.migrate()
        self.clock = Hands(now)
        labels = {"bug": Category.BUG, "docs": Category.DOCS, "chore": Category.CHORE}
        self.inbox = SqliteInbox(self.database, labels)
        self.queue = SqliteTaskQueue(self.database, self.clock)
        self.ledger = SqliteLedger(self.database, self.clock)
        self.receipts = SqliteReceipts(self.database, self.clock)
        self._key = Ed25519PrivateKey.generate()
        (data_dir / "receipt-key.pub").write_bytes(
            self._key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        self._number = 0

    def close(self) -> None:
        self.database.close()

    def at(self, **before: float) -> None:
        """Set the clock to so long before now."""
        self.clock.moment = self.now - timedelta(**before)

    def deliver(self, event: Event, admission: Admission) -> int | None:
        self._number += 1
        name = f"delivery-{self._number}"
        delivery = Delivery(
            provider="local",
            delivery_id=name,
            body_sha256=hashlib.sha256(name.encode()).hexdigest(),
            body=json.dumps({"action": "labeled", "number": self._number, "note": self.hostile}).encode(),
            received_at=self.clock.now(),
            event=event,
        )
        return self.inbox.accept([delivery], lambda _: admission)[0].task_id

    def labelled(self, title: str, body: str, repository: str = "acme/fairshare", label: str = "bug") -> Task:
        number = 100 + self._number
        place = {"acme/fairshare": "501", "octo/lamp": "502"}[repository]
        event = IssueLabelled(
            issue=IssueRef(forge="local", repository_id=place, number=number),
            repository_name=repository,
            actor=Actor(id="9", login="mia"),
            label=label,
            title=title,
            body=body,
        )
        task_id = self.deliver(event, Admission.QUEUED)
        assert task_id is not None
        return self.queue.task(task_id)

    def begun(self, title: str, body: str, repository: str = "acme/fairshare") -> tuple[Task, Attempt]:
        self.labelled(title, body, repository)
        task = self.queue.claim("worker-1/a", 3600)
        assert task is not None
        return task, self.queue.begin_attempt(task)

    def phases(self, attempt: Attempt, *named: tuple[str, float, str, str]) -> None:
        for name, seconds, cost, note in named:
            started = self.clock.now()
            self.clock.moment += timedelta(seconds=seconds)
            phase = Phase(name=name, started_at=started, seconds=seconds, cost=Decimal(cost), note=note)
            self.queue.add_phase(attempt, phase)

    def spend(self, task: Task, attempt: Attempt, dollars: str, model: str = MODEL, calls: int = 6) -> None:
        for _ in range(calls):
            amount = (Decimal(dollars) / calls).quantize(Decimal("0.000001"))
            held = self.ledger.reserve(
                task, attempt, model=model, decide=lambda _, amount=amount: (100, amount)
            )
            usage = Usage(input_tokens=2150, output_tokens=180, cache_read_tokens=900)
            self.ledger.settle(held, usage=usage, cost=amount, billed=None)

    def transcript(self, attempt: Attempt, steps: int, phase: str = "verify") -> Path:
        path = self.data_dir / "transcripts" / f"attempt-{attempt.id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        records = [{"phase": "agent", "at": self.clock.now().isoformat()}]
        records += [self.step(number) for number in range(1, steps + 1)]
        records.append({"phase": phase, "at": self.clock.now().isoformat()})
        records.insert(0, {"config": {"max_cost": "0.80", "test": {"command": "python -m pytest -q"}}})
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def step(self, number: int) -> dict[str, object]:
        """Return a step's record as the agent writes it."""
        words, command, code, output = STEPS[(number - 1) % len(STEPS)]
        action = {"kind": "run", "call_id": f"call_{number}", "command": command}
        messages: list[dict[str, object]] = [
            {"role": "assistant", "content": words, "extra": {"actions": [action], "dollars": "0.0087"}},
            {
                "role": "tool",
                "content": f"exit code {code}\n{output}",
                "extra": {"exit_code": code, "seconds": 0.4 * number, "timed_out": False},
            },
        ]
        if number == 1:
            brief = (
                f"Issue 1 of the repository acme/fairshare.\nTitle: {self.hostile}\n"
                + "Take small steps.\n" * 30
            )
            messages = [
                {"role": "system", "content": "You are a careful software engineer.\n" * 12},
                {"role": "user", "content": brief},
                *messages,
            ]
        return {
            "kind": "step",
            "step": number,
            "messages": messages,
            "usage": {"input_tokens": 2150, "output_tokens": 118, "cache_read_tokens": 900},
            "cost": "0.008700000",
            "seconds": 2.4,
            "at": self.clock.now().isoformat(),
        }

    def claim(self) -> Claim:
        return CLAIM.model_copy(update={"changes": f"{CLAIM.changes} {self.hostile}"})

    def receipt(self, task: Task, attempt: Attempt, outcome: Outcome, verdict: Verdict | None) -> None:
        facts = ReceiptFacts(
            version="0.1.0",
            task=task,
            attempt=attempt,
            outcome=outcome,
            reason=None,
            verdict=verdict,
            suspects=(
                Suspect(
                    path="fairshare/split.py",
                    symbol="split_evenly",
                    score=9.1,
                    first_line=4,
                    last_line=9,
                    why="named",
                ),
                Suspect(
                    path="fairshare/bill.py",
                    symbol="Bill.shares",
                    score=3.2,
                    first_line=28,
                    last_line=40,
                    why="calls",
                ),
                Suspect(
                    path="fairshare/money.py", symbol="", score=1.1, first_line=0, last_line=0, why="near"
                ),
            ),
            model=MODEL,
            calls=7,
            cost=Decimal("0.0519"),
            issue_cost=Decimal("0.0519"),
            isolation="bubblewrap: no network, own user, own processes",
            transcript=TranscriptMark(sha256="0" * 64, size=4711),
            at=self.clock.now(),
        )
        key_id = hashlib.sha256(b"key").hexdigest()

        def write(previous: str) -> tuple[str, bytes]:
            payload = payload_of(facts, previous, str)
            return hash_of(payload), wrap(
                payload, key_id=key_id, signature=self._key.sign(signed_bytes(payload))
            )

        self.receipts.append(attempt, outcome, facts.tree, write)

    def published(self, task: Task, attempt: Attempt, title: str, number: int) -> None:
        intent = Intent(
            kind=PublicationKind.PULL,
            branch=f"fixwright/issue-{task.issue.number}",
            commit_sha="c" * 40,
            tree="d" * 40,
            expected_sha="",
            title=title,
            body="",
        )
        pull = Pull(
            number=number,
            url=f"https://forge.example/acme/fairshare/pulls/{number}",
            title=title,
            body="",
            head_branch=intent.branch,
            head_sha="c" * 40,
            base_branch="main",
            is_open=True,
            is_draft=True,
        )
        self.queue.published(self.queue.intend(task, attempt, intent), pull=pull)

    def in_review(self, title: str, dollars: str, number: int, repository: str = "acme/fairshare") -> Task:
        """Take a task all the way to a verified draft pull request."""
        task, attempt = self.begun(title, BODY + self.hostile, repository)
        self.queue.save_report(attempt, restatement=RESTATEMENT, claim=None)
        self.spend(task, attempt, dollars)
        attempt = self.queue.note_progress(attempt, steps=7, base_sha="b" * 40)
        self.phases(attempt, *PHASES)
        self.queue.save_report(attempt, restatement=RESTATEMENT, claim=self.claim())
        self.queue.save_verdict(attempt, VERDICT)
        self.transcript(attempt, 7)
        (self.data_dir / "transcripts" / f"attempt-{attempt.id}.diff").write_text(PATCH)
        self.published(task, attempt, f"Fix: {title}", number)
        self.receipt(task, attempt, Outcome.VERIFIED, VERDICT)
        self.queue.end_attempt(attempt, Outcome.VERIFIED)
        return self.queue.move(task, Trigger.PUBLISHED)

    def merged(self, task: Task, number: int, *, merged: bool = True) -> None:
        event = PullClosed(
            issue=IssueRef(forge="local", repository_id=task.issue.repository_id, number=number),
            actor=Actor(id="9", login="mia"),
            head_branch=f"fixwright/issue-{task.issue.number}",
            merged=merged,
        )
        self.deliver(event, Admission.SIGNAL)
        for signal in self.queue.signals():
            self.queue.decide(signal, "merged" if merged else "cancelled")
        self.queue.move(self.queue.task(task.id), Trigger.MERGED if merged else Trigger.CANCELLED)

    def blocked(self, title: str, reason: Reason, detail: str, repository: str = "acme/fairshare") -> Task:
        task, attempt = self.begun(title, BODY + self.hostile, repository)
        self.spend(task, attempt, "0.0834", CHEAPER)
        attempt = self.queue.note_progress(attempt, steps=9)
        self.phases(attempt, *PHASES[:5])
        self.transcript(attempt, 9)
        if reason is Reason.AWAITING_APPROVAL:
            self.queue.save_report(attempt, restatement=RESTATEMENT, claim=self.claim())
            self.queue.save_verdict(attempt, VERDICT)
            return self.queue.move(task, Trigger.BLOCKED, Landing(reason=reason, detail=detail))
        verdict = replace(
            VERDICT,
            verified=False,
            summary="The guard refuses the change.",
            findings=(
                replace(
                    VERDICT.findings[0], severity=Severity.CRITICAL, what=f"Skips a test. {self.hostile}"
                ),
            ),
        )
        if reason is Reason.GUARD:
            self.queue.save_verdict(attempt, verdict)
            (self.data_dir / "transcripts" / f"attempt-{attempt.id}.diff").write_text(PATCH)
            self.receipt(task, attempt, Outcome.REFUSED, verdict)
        self.queue.end_attempt(attempt, Outcome.REFUSED if reason is Reason.GUARD else Outcome.UNVERIFIED)
        return self.queue.move(task, Trigger.BLOCKED, Landing(reason=reason, detail=detail))

    def running(self, title: str) -> tuple[Task, Attempt]:
        task, attempt = self.begun(title, BODY + self.hostile)
        self.queue.save_report(attempt, restatement=RESTATEMENT, claim=None)
        self.phases(attempt, *PHASES[:3])
        self.spend(task, attempt, "0.0261", calls=3)
        attempt = self.queue.note_progress(attempt, steps=3)
        self.transcript(attempt, 3, phase="agent")
        return task, attempt


def seed(data_dir: Path, now: datetime | None = None, hostile: str = HOSTILE) -> None:
    """Fill an empty data directory with tasks in every state; `hostile` stands in every text from outside."""
    made = Seed(data_dir, now or datetime.now(UTC).replace(microsecond=0), hostile)
    for at, (title, dollars) in enumerate(MONTH):
        made.at(days=27 - 2.1 * at, hours=3)
        repository = "octo/lamp" if at % 4 == 3 else "acme/fairshare"
        task = made.in_review(title, dollars, 20 + at, repository)
        made.clock.moment += timedelta(hours=2)
        made.merged(task, 20 + at, merged=at % 5 != 2)
    made.at(hours=5)
    made.in_review("Splitting 100.00 between three people loses a cent", "0.0519", 61)
    made.at(hours=4)
    made.blocked(
        "Weights of zero divide by zero", Reason.GUARD, "RH003: a test is skipped instead of being fixed."
    )
    made.blocked(
        "Export rounds amounts twice",
        Reason.NEEDS_INFORMATION,
        "Should the export keep tenths of a cent, or round to whole ones?",
        "octo/lamp",
    )
    made.blocked("Currency symbol is cut off", Reason.AWAITING_APPROVAL, f"tree {'d' * 40}")
    made.blocked(f"A total of zero is -0.00 {hostile}", Reason.TASK_LIMIT, f"spent $1.00 of $1.00 {hostile}")
    made.at(minutes=50)
    made.deliver(Uninteresting(why="issues.pinned"), Admission.UNINTERESTING)
    made.at(minutes=7)
    made.running("Bills with more than 64 people take minutes")
    made.at(minutes=3)
    made.labelled("Typo in the installation guide", "It says `pip instal`.", "octo/lamp", "docs")
    made.labelled("A negative total is accepted without a word", BODY)
    made.labelled("Update the copyright year", "", label="chore")
    made.close()


BODY = (
    "We used `split_evenly` for our flat's electricity bill and the landlord says a cent is missing:\n\n"
    "    >>> split_evenly(10000, 3)\n    [3333, 3333, 3333]\n\n"
    "I would expect one of us to pay 33.34, as the documentation promises.\n\n"
)

MONTH = (
    ("Locale with a comma breaks parsing", "0.1120"),
    ("`Bill.add` forgets the date", "0.3412"),
    ("CSV with a BOM is refused", "0.0866"),
    ("Lamp stays on after timeout", "1.2240"),
    ("Rounding differs between Python versions", "0.6103"),
    ("Names with accents sort last", "0.1944"),
    ("Empty bill raises KeyError", "0.0731"),
    ("Dimmer accepts 101 percent", "0.9310"),
    ("`--help` prints a traceback", "0.2208"),
    ("Shares of one cent vanish", "0.4075"),
    ("Config in a path with spaces", "0.1598"),
    ("Two lamps share an id", "0.7701"),
)

PHASES = (
    ("prepare", 1.36, "0", ""),
    ("baseline", 8.4, "0", "14 passed, 0 failed"),
    ("localize", 0.7, "0", "fairshare/split.py, fairshare/bill.py"),
    ("agent", 74.2, "0.0519", "7 steps"),
    ("check", 1.1, "0", "1 warning"),
    ("verify", 21.9, "0", "3 failing before and passing now; 18 tests pass on the changed code"),
)

RESTATEMENT = Restatement(
    expected="The shares returned by split_evenly add up to the total.",
    actual="split_evenly(10000, 3) returns three times 3333, which is one cent short.",
    reproduction="sum(split_evenly(10000, 3)) gives 9999",
    suspected_area="fairshare/split.py, split_evenly",
    confidence=0.95,
    questions=[],
)

CLAIM = Claim(
    root_cause="split_evenly used integer division and dropped the remainder.",
    changes="The remainder is handed out one cent at a time, to the first people.",
    test_commands=["python3 -m pytest -q"],
    not_verified="Negative totals were not considered.",
)

_NEW = tuple(f"tests/test_split.py::test_the_shares_add_up_to_the_bill[{people}]" for people in (3, 7, 64))
_OLD = frozenset(f"tests/test_split.py::test_{number}" for number in range(14))


def _run(
    name: str, status: RunStatus, seconds: float, failed: tuple[str, ...], passed: frozenset[str]
) -> TestRun:
    return TestRun(
        name=name,
        command="python -m pytest -q",
        tree="d" * 40,
        status=status,
        exit_code=1 if failed else 0,
        seconds=seconds,
        passed=len(passed),
        failed=len(failed),
        skipped=0,
        passed_ids=passed,
        failed_ids=frozenset(failed),
        tail=f"{len(failed)} failed, {len(passed)} passed\n{HOSTILE}" if failed else "",
    )


VERDICT = Verdict(
    verified=True,
    summary="3 tests fail without the change and pass with it; 18 tests pass on the changed code.",
    base_sha="b" * 40,
    tree="d" * 40,
    runs=(
        _run("new tests on the old code", RunStatus.FAILED, 1.07, _NEW, frozenset({_NEW[0] + "-one"})),
        _run("new tests on the new code", RunStatus.PASSED, 0.98, (), frozenset(_NEW)),
        _run("whole suite on the new code", RunStatus.PASSED, 3.4, (), frozenset(_NEW) | _OLD),
    ),
    findings=(
        Finding(
            rule="RH104",
            path="tests/test_split.py",
            line=16,
            what="A tolerance was widened: abs=1.",
            why="A test that allows a cent of error would not have shown the fault.",
            severity=Severity.WARNING,
            id="RH104-3f1c2a18a7b0c9d1",
        ),
    ),
    turned_green=_NEW,
    broken=(),
    isolation="bubblewrap: no network, own user, own processes",
)
