"""What a repository's own file asks for, from the label to the draft pull request."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.model import Category, Reason
from domain.states import State
from domain.text import visible
from providers.local.forge import LocalForge
from tests.harness.test_publish import AskingForge
from tests.worker.conftest import BuildTown
from tests.worker.town import CALC, FIX, NOTES, SHOW, WRITE, Town, caps, plays
from worker.contract_reading import ContractReader
from worker.sweeps import Pace, Sweeper
from worker.voice import DISCLOSURE

CONTRACT = """\
working_directory: libs/calc
base_branch: develop
branch_prefix: bot/
commit: {style: conventional, sign_off: true}
pull_request: {reviewers: [robin, MIKA], template: true}
max_iterations: 7
max_minutes: 3
"""
TEMPLATE = "<!-- say why -->\n## Checklist\n\n- [ ] tests added @acme/core\n- [ ] closes #12\n"
MONOREPO = {
    **{f"libs/calc/{name}": text for name, text in CALC.items()},
    "README.md": "# Two parts\n",
    "libs/lamp/test_broken.py": "raise RuntimeError('the other part is broken')\n",
    ".fixwright.yml": CONTRACT,
    ".github/PULL_REQUEST_TEMPLATE.md": TEMPLATE,
}


def test_one_part_of_a_monorepo_gets_its_draft_as_the_file_asks_for_it(build: BuildTown) -> None:
    town = build(MONOREPO)
    issue = town.issue()
    start = town.world.git.branches(town.repository.id)["main"]
    town.world.git.push(town.repository.id, "develop", {"NEWS": b"ahead of main\n"}, by=town.maintainer)
    forge = AskingForge(town.root / "forge")

    town.loop(plays(FIX, SHOW), forge=forge).turn()

    (pull,) = town.world.pulls(town.repository.id)
    assert town.stands == (State.IN_REVIEW, None)
    assert (pull.base_branch, pull.head_branch) == ("develop", f"bot/issue-{issue.number}")
    assert pull.title == f"fix: double(5) is 7 (#{issue.number})"
    read = town.world.git.read_file
    assert b"x * 2" in read(town.repository.id, pull.head_branch, "libs/calc/calc.py")
    assert b"ahead" in read(town.repository.id, pull.head_branch, "NEWS")
    assert "libs/calc/test_five.py" in town.world.git.files(town.repository.id, pull.head_branch)
    assert [name for _, name in forge.asked] == ["robin", "mika"]
    brief = town.cast.briefs[0]
    assert (brief.directory, brief.most_seconds) == ("libs/calc", 180.0)
    assert brief.test_command.startswith("cd libs/calc && python3 -m unittest")
    assert "cd libs/calc && python3 -m unittest" in pull.body
    below = pull.body.partition("This repository's own template")[2]
    assert "## Checklist" in below and "- [ ] tests added" in below and "say why" not in below
    assert "@acme" not in below and "closes #12" not in below
    assert start != pull.head_sha


@pytest.mark.long
def test_commits_are_signed_off_by_their_author_where_the_file_asks_for_it(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yml": "commit: {style: plain, sign_off: true}\n"})
    town.issue("docs", title="Say more")

    town.loop(plays(WRITE)).turn()

    message = town.world.git.commits(town.repository.id, town.task.wip_branch)[0].message
    assert message.startswith("Say more\n")
    assert "\nSigned-off-by: Fixwright <" in message


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("base_branch: nowhere\n", "there is no branch `nowhere`"),
        ("working_directory: nowhere\n", "there is no directory `nowhere` on `main`"),
        ("working_directory: README.md\n", "there is no directory `README.md` on `main`"),
        ("tset: {}\n", ".fixwright.yml:1:1: tset: not a key that is known here; did you mean `test`?"),
        ("approval: always\n", "approval: Input should be"),
    ],
)
def test_a_file_that_cannot_be_followed_stops_the_task_and_says_where(
    build: BuildTown, config: str, says: str
) -> None:
    town = build(NOTES | {".fixwright.yml": config})
    issue = town.issue("docs")

    town.loop(plays(WRITE)).turn()

    assert town.stands == (State.BLOCKED, Reason.CONFIG)
    assert says in visible(town.said(issue)[-1].body).replace("\u2060", "")
    assert not town.cast.briefs, "nothing was spent"
    assert town.ledger.spent_on_task(town.task.id) == 0


@pytest.mark.parametrize(("taken", "config"), [("bot", "branch_prefix: bot/\n"), ("fixwright", "")])
def test_a_branch_in_the_way_of_ours_is_found_before_anything_is_spent(
    build: BuildTown, taken: str, config: str
) -> None:
    town = build(NOTES | ({".fixwright.yml": config} if config else {}))
    issue = town.issue("docs")
    town.world.git.push(town.repository.id, taken, {"NEWS": b"mine\n"}, by=town.maintainer)

    town.loop(plays(WRITE)).turn()

    assert town.stands == (State.BLOCKED, Reason.ENVIRONMENT)
    assert f"there is a branch `{taken}`" in visible(town.said(issue)[-1].body)
    assert not town.cast.briefs, "nothing was spent"


def test_one_repository_s_odd_file_does_not_keep_others_from_being_read(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yml": 'labels: {"\\UFFFFFFFF": bug}\n'})
    files = {".fixwright.yml": b"labels: {defect: bug}\n"}
    other = town.world.create_repository("zeta/last", files=files)
    served = town.serving.repositories | {f"local:{other.full_name}"}
    serving = replace(town.serving, repositories=frozenset(served))
    forges = {"local": LocalForge(town.root / "forge")}

    list(ContractReader(forges=forges, serving=serving, labels=town.contracts).steps())

    assert town.contracts.labels_of("local", other.id) == {"defect": Category.BUG}


def status_while_working(town: Town, **settings: object) -> str:
    """Return our status comment as it stands while the agent works."""
    issue = town.issue("docs")
    seen: list[str] = []
    agent = plays(WRITE)
    stage_loop = town.loop(agent, **settings)  # type: ignore[arg-type] # passed on as they are
    stage_loop.shop.bench.sandbox.cues["printf"] = lambda: seen.append(town.said(issue)[0].body)  # type: ignore[attr-defined] # a Stage
    stage_loop.turn()
    return seen[0]


@pytest.mark.long
def test_that_a_machine_speaks_is_said(notes: Town) -> None:
    assert DISCLOSURE in status_while_working(notes)
    assert DISCLOSURE in notes.said(notes.task.issue)[0].body, "and still when the draft is up"
    (pull,) = notes.world.pulls(notes.repository.id)
    assert "made by a machine (Fixwright)" in pull.body


@pytest.mark.long
def test_that_there_is_no_file_is_said(notes: Town) -> None:
    assert (
        "There is no `.fixwright.yml` on the default branch, so the defaults hold."
        in status_while_working(notes)
    )


@pytest.mark.long
def test_a_file_under_another_name_is_not_taken_for_it(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yaml": "max_iterations: 1\n"})
    assert "`.fixwright.yaml` is not read; rename it." in status_while_working(town)


@pytest.mark.long
def test_budgets_above_the_services_are_lowered_and_named(build: BuildTown) -> None:
    wished = "max_iterations: 90\nmax_cost_per_task_usd: 1\nmax_daily_cost_usd: 99\n"
    wished += "max_attempts: 3\nmax_minutes: 99\n"
    town = build(NOTES | {".fixwright.yml": wished})
    status = status_while_working(town, caps=caps())
    for line in (
        "- `max_iterations`: 90, held at 50",
        "- `max_minutes`: 99, held at 60",
        "- `max_attempts`: 3, held at 2",
        "- `max_daily_cost_usd`: $99.00, held at $10.00",
    ):
        assert line in status
    assert "max_cost_per_task_usd" not in status


@pytest.mark.long
def test_a_repository_may_want_fewer_attempts(build: BuildTown) -> None:
    town = build(CALC | {".fixwright.yml": "max_attempts: 1\n"})
    town.issue()
    town.loop(plays("true > new.txt && echo x > new.txt"), caps=caps(max_attempts=3)).turn()
    assert town.stands == (State.BLOCKED, Reason.ATTEMPTS_EXHAUSTED)


@pytest.mark.long
def test_a_publication_that_a_crash_interrupted_goes_on_to_the_same_base(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yml": "base_branch: develop\nbranch_prefix: bot/\n"})
    issue = town.issue("docs")
    town.world.git.push(town.repository.id, "develop", {"NEWS": b"x\n"}, by=town.maintainer)

    class Dying(LocalForge):
        def ensure_pull(self, *arguments: object, **named: object) -> None:  # type: ignore[override] # never returns
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        town.loop(plays(WRITE), forge=Dying(town.root / "forge")).turn()
    town.clock.forward(hours=1)
    town.reopen()
    town.loop(plays(WRITE), life="two").turn()
    town.clock.forward(hours=1)
    town.loop(plays(WRITE), life="two").turn()

    (pull,) = town.world.pulls(town.repository.id)
    assert (pull.base_branch, pull.head_branch) == ("develop", f"bot/issue-{issue.number}")


# -- labels and kinds of work of a repository's own --------------------------------------------------

OWN = """\
labels: {Write-Up: essay}
categories:
  essay: {evidence: documentation, instructions: Write British English., commit_type: text}
commit: {style: conventional}
"""


def read_contracts(town: Town) -> None:
    """Let the worker look at the repositories' files."""
    forges = {"local": LocalForge(town.root / "forge")}
    for _ in ContractReader(forges=forges, serving=town.serving, labels=town.contracts).steps():
        pass


def sweep(town: Town) -> None:
    forges = {"local": LocalForge(town.root / "forge")}
    sweeper = Sweeper(
        town.queue,
        town.inbox,
        forges,
        serving=town.serving,
        clock=town.clock,
        pace=Pace(most_tasks=5, reach=timedelta(days=365_000)),
    )
    sweeper.labels = town.contracts
    for _ in sweeper.steps():
        pass


@pytest.mark.long
def test_a_label_of_ones_own_asks_for_work_that_is_judged_by_its_category(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yml": OWN})
    read_contracts(town)
    issue = town.issue("write-up", title="Say more")
    assert (town.task.category, town.task.label) == (Category.DOCS, "write-up")

    town.loop(plays(WRITE)).turn()

    assert town.stands == (State.IN_REVIEW, None)
    assert town.cast.briefs[0].instructions == ("Write British English.",)
    (pull,) = town.world.pulls(town.repository.id)
    assert pull.title == f"text: Say more (#{issue.number})"


def test_a_label_that_nobody_knew_yet_is_found_by_the_next_sweep(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yml": OWN})
    town.issue("write-up")
    assert town.queue.tasks() == []
    read_contracts(town)
    sweep(town)
    assert town.task.label.lower() == "write-up"


def test_taking_a_label_of_ones_own_off_stops_the_work(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yml": OWN})
    read_contracts(town)
    issue = town.issue("write-up")
    town.world.unlabel(issue, town.maintainer, "write-up")
    town.deliver()
    town.loop(plays(WRITE)).shop.desk.clear()
    assert town.stands == (State.CANCELLED, Reason.WITHDRAWN)


def test_a_wrong_file_leaves_the_labels_that_are_known(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yml": OWN})
    read_contracts(town)
    change = {".fixwright.yml": b"labels: [\n"}
    town.world.git.push(town.repository.id, "main", change, by=town.maintainer)
    read_contracts(town)
    assert dict(town.contracts.labels_of("local", town.repository.id)) == {"write-up": Category.DOCS}
    town.world.git.push(town.repository.id, "main", {".fixwright.yml": None}, by=town.maintainer)
    read_contracts(town)
    assert not town.contracts.labels_of("local", town.repository.id)


@pytest.mark.long
def test_a_repository_gives_a_label_of_the_services_own_another_category(build: BuildTown) -> None:
    own = "labels: {bug: typo}\ncategories: {typo: {evidence: documentation}}\n"
    town = build(NOTES | {".fixwright.yml": own})
    read_contracts(town)
    town.issue("bug")
    assert town.task.category is Category.DOCS
    town.loop(plays(WRITE)).turn()
    assert town.stands == (State.IN_REVIEW, None)


@pytest.mark.long
@pytest.mark.parametrize("name", ["release/#12", "feat(core)-x", "a+b", "\u00fcn\u00ef"])
def test_a_base_may_be_called_whatever_git_takes(build: BuildTown, name: str) -> None:
    town = build(NOTES | {".fixwright.yml": f"base_branch: '{name}'\n"})
    town.world.git.push(town.repository.id, name, {"NEWS": b"x\n"}, by=town.maintainer)
    town.issue("docs")
    town.loop(plays(WRITE)).turn()
    (pull,) = town.world.pulls(town.repository.id)
    assert pull.base_branch == name and town.stands == (State.IN_REVIEW, None)


@pytest.mark.long
def test_a_base_that_changes_while_a_draft_is_up_is_merged_in_and_followed(build: BuildTown) -> None:
    town = build(NOTES)
    issue = town.issue("docs")
    loop = town.loop(plays(WRITE))
    loop.turn()
    town.world.git.push(town.repository.id, "develop", {"NEWS": b"x\n"}, by=town.maintainer)
    change = {".fixwright.yml": b"base_branch: develop\nbranch_prefix: bot/\n"}
    town.world.git.push(town.repository.id, "main", change, by=town.maintainer)
    town.comment(issue, "/fixwright retry\nSay it better.")
    town.loop(plays("printf 'better\\n' > README.md")).turn()
    (pull,) = town.world.pulls(town.repository.id)
    assert pull.base_branch == "develop" and pull.head_branch.startswith("fixwright/issue-")
    assert "NEWS" in town.world.git.files(town.repository.id, pull.head_branch)
    assert town.cast.briefs[-1].instructions == ("Say it better.",)


@pytest.mark.long
def test_a_directory_that_is_only_a_link_is_none(build: BuildTown) -> None:
    town = build(NOTES | {"docs/a.md": "x\n", ".fixwright.yml": "working_directory: link\n"})
    link = {"link": (b"/etc", 0o120000)}
    town.world.git.push(town.repository.id, "main", link, by=town.maintainer)
    town.issue("docs")
    town.loop(plays(WRITE)).turn()
    assert town.stands == (State.BLOCKED, Reason.CONFIG)
