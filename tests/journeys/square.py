"""The square where people talk: both processes beside a forge, a repository for each journey."""

from __future__ import annotations

import functools
import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from app.clock import SystemClock
from app.demo.cases import Case, load_case
from app.demo.data_directory import data_directory
from app.demo.homes import GithubHome, Home, LocalHome
from app.demo.scenarios import scenario_named
from app.demo.scripted_model import Script, ScriptedModel
from app.demo.service import PROJECT, Service
from app.demo.sources import files_of
from app.demo.stage import MODEL_NAME, PRICE
from app.demo.toolchain import tools_for
from app.settings import inherited_environment
from domain.model import Actor, Comment, IssueRef, Permission, Pull, Reason, Repository, Task
from domain.pricing import write_prices
from domain.states import State
from store.database import Database
from store.tasks import SqliteTaskQueue
from tests.journeys.cast import Cast, fixing
from tests.providers.github.contract import judge

SECONDS = 240.0
MOST_REPOSITORIES = 40
REGULAR = 0o100644

STATUS_MARK = re.compile(r"<!-- fixwright:status-\d+ -->\s*$")

SETTINGS = {
    # A sweep would race with the delivery that a journey is about: either may be the one that is followed.
    "FIXWRIGHT_SWEEP_MINUTES": "0",
    "FIXWRIGHT_POLL_SECONDS": "1",
    "FIXWRIGHT_REVIEW_WAIT_SECONDS": "1",
    "FIXWRIGHT_CI_POLL_SECONDS": "1",
    "FIXWRIGHT_CI_APPEAR_MINUTES": "1",
    "FIXWRIGHT_MAX_OPEN_PULLS": "2",
}


class Square:
    """The service on one forge, the people there, and the model."""

    def __init__(self, forge: str, data: Path, settings: Mapping[str, str]) -> None:
        self.case: Case = load_case(scenario_named("fix").case)
        self.home: Home = GithubHome(data, "acme", judge) if forge == "github" else LocalHome(data)
        if isinstance(self.home, GithubHome):
            # What most installations have not granted, and a rerun needs.
            self.home.state.installations["acme"].permissions["actions"] = "write"
        self.world, self.cast = self.home.world, Cast()
        self.model = ScriptedModel(
            {MODEL_NAME.partition("/")[2]: self.cast.script}, price=PRICE, api_key="key-of-the-cast"
        )
        names = [self._name(number) for number in range(1, MOST_REPOSITORIES + 1)]
        secret = "a-webhook-secret-of-these-conversations"
        self.service = Service(
            data,
            {
                "FIXWRIGHT_WEBHOOK_SECRET": secret,
                "FIXWRIGHT_REPOSITORIES": ",".join(f"{forge}:{name}" for name in names),
                "FIXWRIGHT_SANDBOX_TOOLS": str(tools_for(self.case)),
                "FIXWRIGHT_MODEL": MODEL_NAME,
                "FIXWRIGHT_API_BASE": self.model.base_url,
                "FIXWRIGHT_API_KEY": self.model.api_key,
                "FIXWRIGHT_MODEL_PRICES": write_prices({MODEL_NAME: PRICE}),
                **self.home.settings(),
                **settings,
            },
            inherited_environment(),
        )
        self.home.announce_to(self.service.address, secret)
        self.reporter, self.stranger = self.world.create_user("robin"), self.world.create_user("sam")
        self.maintainer = self.world.create_user("mika")
        self.reviewer = self.world.create_user("noor")
        self._houses, self._builds = itertools.count(1), itertools.count(1)
        self.talks: list[Talk] = []

    @property
    def app(self) -> str:
        """The name by which people call the service."""
        return self.world.bot.login.removesuffix("[bot]")

    @staticmethod
    def _name(number: int) -> str:
        return f"acme/fairshare-{number}"

    @functools.cached_property
    def queue(self) -> SqliteTaskQueue:
        """The service's own rows, to look at."""
        return SqliteTaskQueue(Database(self.service.database), SystemClock())

    def repository(self, *, config: str = "", files: Mapping[str, str | None] | None = None) -> Repository:
        """Make a repository with the case's files, some others, and perhaps a file of its own for us."""
        contents: dict[str, tuple[bytes, int]] = dict(files_of(self.case, PROJECT / ".cache" / "sources"))
        for path, text in (files or {}).items():
            contents.pop(path, None)
            if text is not None:
                contents[path] = (text.encode(), REGULAR)
        if config:
            contents[".fixwright.yml"] = (config.encode(), REGULAR)
        made = self.world.create_repository(
            self._name(next(self._houses)), default_branch=self.case.default_branch, files=contents
        )
        self.world.grant(made.id, self.maintainer, Permission.MAINTAIN)
        self.world.grant(made.id, self.reviewer, Permission.WRITE)
        return made

    def quiet_house(self, *, config: str = "", files: Mapping[str, str | None] | None = None) -> Repository:
        """Make a repository without tests, in which work is quick."""
        none: dict[str, str | None] = {"tests/test_money.py": None, "tests/test_split.py": None}
        return self.repository(config=config, files={**none, **(files or {})})

    def talk(self, repository: Repository, script: Script | None = None, *, body: str = "") -> Talk:
        """Let the reporter open an issue. By default the model mends it."""
        build = next(self._builds)
        said = f"{body or self.case.issue.strip()}\n\nSeen with fairshare build {build}.\n"
        issue = self.world.open_issue(repository.id, self.reporter, title=self.case.title, body=said)
        self.cast.plays(build, script or fixing(self.case))
        found = Talk(self, repository, issue, build)
        self.talks.append(found)
        return found

    def wait(self, until: Callable[[], bool], what: Callable[[], object]) -> None:
        """Wait until something holds; fail with what there is instead, and the service's last words."""
        deadline = time.monotonic() + SECONDS
        while not until():
            assert time.monotonic() < deadline, f"in vain; {what()}\n{self.service.last_lines()}"
            time.sleep(0.05)

    def close_talks(self) -> None:
        """Look whether the journey that ends left anything amiss, and let nothing of it stand in the way."""
        self.cast.release()
        talks, self.talks = self.talks, []
        for talk in talks:
            if talk.exists and talk.task.state in {State.QUEUED, State.RUNNING, State.WATCHING}:
                self.world.close_issue(talk.issue, self.maintainer)
                talk.rests(State.CANCELLED)
        for talk in talks:
            assert len([each for each in talk.ours() if STATUS_MARK.search(each.body)]) <= 1
        assert self.home.problems() == []
        log = self.service.log.read_text(errors="replace")
        assert "Traceback" not in log and "ghs_" not in log and "PRIVATE KEY" not in log


class Talk:
    """One issue, and what is said and done about it."""

    def __init__(self, square: Square, repository: Repository, issue: IssueRef, build: int) -> None:
        self.square, self.repository, self.issue, self.build = square, repository, issue, build

    # -- people -------------------------------------------------------------------------------------

    def label(self, name: str = "bug") -> None:
        """Let the maintainer put a label on."""
        self.square.world.label(self.issue, self.square.maintainer, name)

    def say(self, text: str, *, by: Actor | None = None, on: int | None = None) -> Comment:
        """Let somebody, by default the maintainer, write on the issue, or on a pull request."""
        where = self.issue if on is None else self.pull_ref(on)
        return self.square.world.comment(where, by or self.square.maintainer, text)

    def plays(self, script: Script) -> None:
        """Give the model other lines from now on."""
        self.square.cast.plays(self.build, script)

    # -- what became of it --------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Tell whether the service has a task for the issue."""
        return any(self._is_about(task) for task in self.square.queue.tasks())

    @property
    def task(self) -> Task:
        """The service's task for the issue."""
        return next(task for task in self.square.queue.tasks() if self._is_about(task))

    def _is_about(self, task: Task) -> bool:
        here = task.issue.repository_id, task.issue.number
        return here == (self.issue.repository_id, self.issue.number)

    def rests(self, state: State, reason: Reason | None = None, *, attempts: int | None = None) -> Task:
        """Wait until the task is in a state, perhaps after so many attempts; return it."""

        def look() -> bool:
            task = self.task if self.exists else None
            if task is None or task.state is not state or (attempts or self.attempts) != self.attempts:
                return False
            return reason is None or task.reason is reason

        self.square.wait(look, lambda: self.task if self.exists else "there is no task")
        return self.task

    @property
    def attempts(self) -> int:
        """How many attempts there were."""
        return len(self.square.queue.attempts(self.task.id))

    @property
    def heard(self) -> list[str]:
        """What the model was asked about the issue, as JSON."""
        return self.square.cast.heard(self.build)

    def pulls(self) -> list[Pull]:
        """The pull requests of the repository, the newest first."""
        return self.square.world.pulls(self.repository.id)

    @property
    def pull(self) -> Pull:
        """The one pull request that there is."""
        (found,) = self.pulls()
        return found

    def pull_ref(self, number: int) -> IssueRef:
        """What names a pull request as the place of a conversation."""
        return IssueRef(forge=self.issue.forge, repository_id=self.issue.repository_id, number=number)

    def branches(self) -> list[str]:
        """The names of the repository's branches."""
        return sorted(self.square.world.git.branches(self.repository.id))

    def ours(self, on: int | None = None) -> list[Comment]:
        """What the service wrote on the issue, or on a pull request, oldest first."""
        where = self.issue if on is None else self.pull_ref(on)
        world = self.square.world
        return [each for each in world.comments(where) if each.author.id == world.bot.id]

    def status(self) -> str:
        """The one status comment as it is now."""
        (found,) = [each.body for each in self.ours() if STATUS_MARK.search(each.body)]
        return found

    def says(self, words: str, *, on: int | None = None) -> str:
        """Wait until the service has written these words beside its status; return the comment."""
        found: list[str] = []

        def look() -> bool:
            bodies = [each.body for each in self.ours(on) if not STATUS_MARK.search(each.body)]
            found[:] = [body for body in bodies if words in body]
            return bool(found)

        self.square.wait(look, lambda: f"{words!r} in {[each.body for each in self.ours(on)]}")
        return found[-1]

    def shows(self, words: str) -> str:
        """Wait until the one status comment has these words; return it."""

        def look() -> bool:
            return any(words in each.body for each in self.ours() if STATUS_MARK.search(each.body))

        self.square.wait(look, lambda: f"{words!r} in {[each.body for each in self.ours()]}")
        return self.status()

    def comment_with(self, words: str) -> Comment:
        """Return the service's newest comment with these words."""
        return next(each for each in reversed(self.ours()) if words in each.body)

    def count(self, words: str, *, on: int | None = None) -> int:
        """Return how many of the service's comments have these words."""
        return sum(words in each.body for each in self.ours(on))


@contextmanager
def opened(forge: str, settings: Mapping[str, str] | None = None) -> Iterator[Square]:
    """Start the service on a forge, and stop it at the end."""
    with data_directory() as directory:
        square = Square(forge, directory.path, {**SETTINGS, **(settings or {})})
        square.model.start()
        try:
            square.service.start()
            yield square
        finally:
            square.cast.release()
            square.service.stop()
            square.model.stop()
            square.home.close()
