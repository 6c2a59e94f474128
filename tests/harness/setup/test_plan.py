"""A set-up's plan: where its commands run, and what its result is kept under."""

from __future__ import annotations

from harness.setup.plan import Ground, SetupPlan, key_of

PLAN = SetupPlan(commands=("npm ci", "set -e\nmake deps"), why="configured")


def test_commands_run_in_their_directory_line_by_line() -> None:
    placed = SetupPlan(commands=PLAN.commands, why="", directory="my part")
    assert placed.placed("set -e\nmake deps") == "cd 'my part' || exit 1\nset -e\nmake deps"
    assert PLAN.placed("npm ci") == "npm ci"


def test_a_result_is_kept_for_its_directory_and_what_its_commands_name_there() -> None:
    blobs = {"api/deps.txt": "1", "web/deps.txt": "2", "other.txt": "3"}
    commands = ("pip install -r deps.txt",)

    def key(directory: str, **changed: str) -> str:
        ground = Ground(
            "t",
            {**blobs, **{name.replace("_", "/", 1).replace("_", "."): sha for name, sha in changed.items()}},
        )
        return key_of(SetupPlan(commands=commands, why="", directory=directory), ground, {})

    assert key("api") != key("") and key("api") != key("web")
    assert key("api", api_deps_txt="9") != key("api")
    assert key("api", web_deps_txt="9") == key("api")


def test_a_makefile_of_the_directory_counts() -> None:
    ground = Ground("t", {"api/Makefile": "1", "Makefile": "2", "web/Makefile": "3"})
    assert set(ground.inputs(("make deps",), "api")) == {"api/Makefile", "Makefile"}
