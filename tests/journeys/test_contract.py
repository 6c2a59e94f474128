"""The repository's own file, from end to end: mistakes, budgets, protected paths, a monorepo, labels."""

from __future__ import annotations

from app.demo.scripted_model import bash
from domain.model import Reason
from domain.states import State
from tests.journeys.cast import doing, writing
from tests.journeys.marks import WHOLE_RUNS
from tests.journeys.square import Square

pytestmark = WHOLE_RUNS

LINE = "The first in the list pay the odd cents."


def test_a_mistake_is_said_with_line_and_column_and_work_goes_on_when_it_is_mended(square: Square) -> None:
    repository = square.quiet_house(config="labels:\n  defect: bug\naproval: plan\n")
    talk = square.talk(repository, writing(square.case, LINE))
    talk.label("docs")
    said = talk.says("**The repository's `.fixwright.yml` has a problem.**").replace("\u2060", "")
    assert ".fixwright.yml:3:1:" in said and "`approval`" in said.replace("'approval'", "`approval`"), said
    talk.rests(State.BLOCKED, Reason.CONFIG)
    assert talk.heard == [], "nothing was spent"
    square.world.git.push(
        repository.id, "main", {".fixwright.yml": b"labels:\n  defect: bug\n"}, by=square.maintainer
    )
    talk.say("/fixwright resume")
    talk.rests(State.IN_REVIEW)


def test_a_budget_above_the_services_is_held_at_the_services_and_a_lower_one_counts(square: Square) -> None:
    config = "max_cost_per_task_usd: 50.0\nmax_iterations: 2\n"
    talk = square.talk(square.quiet_house(config=config), doing(square.case, bash("ls"), bash("ls -a")))
    talk.label("docs")
    first = square.cast.hold(talk.build, 0)
    square.wait(first.asked.is_set, lambda: "the model's first turn")
    assert "`max_cost_per_task_usd`: $50.00, held at $1.00" in talk.status()
    first.go.set()
    talk.says("max_iterations")
    talk.rests(State.BLOCKED, Reason.TASK_LIMIT)


def test_a_protected_path_waits_for_a_maintainers_word_about_exactly_that_change(square: Square) -> None:
    repository = square.quiet_house(config='protected_paths: ["README.md"]\n')
    talk = square.talk(repository, writing(square.case, LINE))
    talk.label("docs")
    said = talk.says("touches paths that only people may change")
    assert "README.md" in said and f"+{LINE}" in said
    talk.rests(State.BLOCKED, Reason.PROTECTED_PATH)
    assert talk.branches() == ["main"]
    name = said.partition("`/fixwright allow ")[2].partition("`")[0]
    asked = len(talk.heard)
    talk.say(f"/fixwright allow {name}", by=square.stranger)
    talk.says("Only somebody with write access to this repository may allow it.")
    talk.say(f"/fixwright allow {name}")
    talk.says("exactly the change")
    talk.rests(State.IN_REVIEW)
    assert len(talk.heard) == asked, "the model is not asked again"
    assert f"+{LINE}" in square.world.pull_diff(repository.id, talk.pull.number)


def test_one_part_of_a_monorepo_and_a_label_and_a_category_of_its_own(square: Square) -> None:
    config = (
        "working_directory: packages/api\n"
        "labels:\n  tech-debt: tidy\n"
        "categories:\n  tidy: {evidence: suite, instructions: Keep the names., commit_type: refactor}\n"
        "commit: {style: conventional, sign_off: true}\n"
        "branch_prefix: bot/\n"
        "pull_request: {reviewers: [noor], template: true}\n"
        "test: {command: python3 -m pytest -q}\n"
    )
    files = {
        "packages/api/api.py": "def double(x):\n    return x + x\n",
        "packages/api/test_api.py": "from api import double\n\n\ndef test_it():\n    assert double(2) == 4\n",
        "broken/test_elsewhere.py": "def test_other_part():\n    assert False\n",
        ".github/pull_request_template.md": "## Why\n\n- [ ] I have read the rules\n",
    }
    repository = square.quiet_house(config=config, files=files)
    first = square.talk(repository, doing(square.case, bash("pwd; printf 'Doubles.\\n' > README.md")))
    first.label("docs")
    first.rests(State.IN_REVIEW)
    assert "exit code 0\\n/work/packages/api" in first.heard[-1], "its commands begin there"
    pull = first.pull
    assert pull.head_branch == "bot/issue-1" and pull.title.startswith("docs: ")
    assert "## Why" in pull.body and "- [ ] I have read the rules" in pull.body
    (commit, *_) = square.world.git.commits(repository.id, "bot/issue-1")
    assert commit.message.startswith("docs: ") and "\nSigned-off-by: " in commit.message
    asked = square.world.requested_reviewers(repository.id, pull.number)
    assert {each.login for each in asked} == {"mika", "noor"}, (
        "who asked for the work, and whom the file names"
    )

    tidy = "sed -i 's/x + x/2 * x/' api.py && python3 -m pytest -q"
    second = square.talk(repository, doing(square.case, bash(tidy)), body="Write double with a product.")
    second.label("Tech-Debt")
    second.rests(State.IN_REVIEW)
    assert "A maintainer wrote: Keep the names." in second.heard[-1]
    newest = next(each for each in second.pulls() if each.number != pull.number)
    assert newest.title.startswith("refactor: ") and "1 passed" in newest.body
