"""The repository's own file: typed, closed on failure, with the place of each problem."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from domain.model import Category
from domain.repo_config import LARGEST_FILE, Problem, RepoConfig, check_repo_config, parse_repo_config
from domain.repo_hints import NOT_YET

WHOLE = b"""\
# how to test us
test:
  command: pytest -q
  env:
    DJANGO_SETTINGS_MODULE: tests.settings
    DEBUG: "1"
  timeout_seconds: 600
protected_paths:
  - "migrations/**"
  - setup.cfg
max_cost_per_task_usd: 0.5
max_iterations: 40
"""


def problems_of(source: str | bytes) -> list[str]:
    """Return the lines of the refusal, without the file's name."""
    with pytest.raises(ConfigurationError) as refused:
        parse_repo_config(source if isinstance(source, bytes) else source.encode())
    lines = str(refused.value).split("\n")
    assert all(line.startswith(".fixwright.yml:") for line in lines)
    return [line.removeprefix(".fixwright.yml:").strip() for line in lines]


def places_of(source: str | bytes) -> list[str]:
    return [":".join(problem.split(":")[:2]) for problem in problems_of(source)]


# -- good files -------------------------------------------------------------------------------------


def test_a_whole_file() -> None:
    config = parse_repo_config(WHOLE)
    assert config.test.command == "pytest -q"
    assert config.test.env == {"DJANGO_SETTINGS_MODULE": "tests.settings", "DEBUG": "1"}
    assert config.test.timeout_seconds == 600
    assert config.protected_paths == ["migrations/**", "setup.cfg"]
    assert config.max_cost_per_task_usd == 0.5
    assert config.max_iterations == 40


@pytest.mark.parametrize(
    "source",
    [
        None,
        b"",
        b"\n",
        b"# only a comment\n",
        b"---\n",
        b"---\n...\n",
        b"~\n",
        b"null",
        b"{}",
        b"\xef\xbb\xbf",
        b"%YAML 1.1\n---\n",
    ],
)
def test_nothing_said_means_the_defaults(source: bytes | None) -> None:
    assert parse_repo_config(source) == RepoConfig()


@pytest.mark.parametrize("change", [lambda s: s.replace(b"\n", b"\r\n"), lambda s: b"\xef\xbb\xbf" + s])
def test_windows_files_read_the_same(change) -> None:  # type: ignore[no-untyped-def] # a parametrised lambda
    assert parse_repo_config(change(WHOLE)) == parse_repo_config(WHOLE)


def test_caps_of_zero_are_kept() -> None:
    config = parse_repo_config(b"max_cost_per_task_usd: 0\nmax_iterations: 0\n")
    assert (config.max_cost_per_task_usd, config.max_iterations) == (0, 0)


def test_a_command_of_several_lines() -> None:
    config = parse_repo_config(b"test:\n  command: |\n    set -e\n    make test\n")
    assert config.test.command == "set -e\nmake test\n"


def test_the_value_cannot_be_changed_later() -> None:
    with pytest.raises(ValueError, match="frozen"):
        parse_repo_config(WHOLE).max_iterations = 1


# -- places of problems -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place", "says"),
    [
        ("tests:\n  command: x\n", "1:1", "tests: not a key that is known here"),
        ("\n\n  \nunknown: 1\n", "4:1", "unknown: not a key"),
        ("test:\n  comand: pytest\n", "2:3", "test.comand: not a key"),
        ("test: {command: x, retries: 3}\n", "1:20", "test.retries: not a key"),
        ("test:\n  timeout_seconds: soon\n", "2:3", "test.timeout_seconds: Input should be a valid integer"),
        ("test:\n  timeout_seconds: yes\n", "2:3", "test.timeout_seconds: Input should be a valid integer"),
        ("test:\n  timeout_seconds: 0\n", "2:3", "greater than or equal to 1"),
        ("test:\n  timeout_seconds: 3601\n", "2:3", "less than or equal to 3600"),
        ("test:\n  test: 1\n", "2:3", "test.test: not a key"),
        ("test: pytest\n", "1:1", "test: Input should be a valid dictionary"),
        ("test:\n  env:\n    PORT: 8080\n", "3:5", "test.env.PORT: Input should be a valid string"),
        ("test:\n  env:\n    A: x\n    1B: x\n", "4:5", "test.env.1B: String should match pattern"),
        ("test:\n  env:\n    'A=B': x\n", "3:5", "test.env.A=B: String should match pattern"),
        ('test:\n  env:\n    A: "\\0"\n', "3:5", "test.env.A: String should match pattern"),
        ("test:\n  env: [A]\n", "2:3", "test.env: Input should be a valid dictionary"),
        ('test:\n  command: ""\n', "2:3", "test.command: "),
        ('test:\n  command: "  "\n', "2:3", "test.command: String should match pattern"),
        ('test:\n  command: "a\\0b"\n', "2:3", "test.command: String should match pattern"),
        ("test:\n  command: [pytest]\n", "2:3", "test.command: Input should be a valid string"),
        ("test:\n  command: true\n", "2:3", "test.command: Input should be a valid string"),
        ("protected_paths: docs\n", "1:1", "protected_paths: Input should be a valid list"),
        ("protected_paths:\n- docs\n- 3\n", "3:3", "protected_paths.1: Input should be a valid string"),
        ("protected_paths: [a, '']\n", "1:22", "protected_paths.1: String should have at least 1"),
        ("protected_paths:\n- a: b\n", "2:3", "protected_paths.0: Input should be a valid string"),
        ("max_iterations: yes\n", "1:1", "max_iterations: Input should be a valid integer"),
        ("max_iterations: 1.5\n", "1:1", "max_iterations: Input should be a valid integer"),
        ('max_iterations: "40"\n', "1:1", "max_iterations: Input should be a valid integer"),
        ("max_iterations: -1\n", "1:1", "greater than or equal to 0"),
        ("max_cost_per_task_usd: -0.1\n", "1:1", "greater than or equal to 0"),
        ("max_cost_per_task_usd: .nan\n", "1:1", "finite number"),
        ("max_cost_per_task_usd: .inf\n", "1:1", "finite number"),
        ("max_cost_per_task_usd: 1e309\n", "1:1", "valid number"),
        ("max_cost_per_task_usd: 1.0e+309\n", "1:1", "finite number"),
        ("max_cost_per_task_usd: 0.5 USD\n", "1:1", "valid number"),
        ("max_cost_per_task_usd: true\n", "1:1", "valid number"),
        ("max_iterations: 2024-01-01\n", "1:1", "valid integer"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(source: str, place: str, says: str) -> None:
    (problem,) = problems_of(source)
    assert problem.startswith(f"{place}: ")
    assert says in problem


def test_every_problem_is_named_at_once_in_the_files_order() -> None:
    source = "test:\n  timeout_seconds: 0\n  env:\n    A: 1\nmax_iterations: -1\nextra: 1\n"
    assert sorted(places_of(source)) == ["2:3", "4:5", "5:1", "6:1"]


def test_a_flood_of_problems_is_cut_short() -> None:
    lines = problems_of("\n".join(f"key{n}: 1" for n in range(500)))
    assert len(lines) == 21
    assert lines[-1] == "and 480 more"


@pytest.mark.parametrize(
    ("source", "place", "says"),
    [
        ("test:\n\tcommand: x\n", "2:1", "cannot start any token"),
        ("test: [a, b\n", "2:1", "expected ',' or ']'"),
        ("test: {command: 'x\n", "2:1", "unexpected end of stream"),
        ("a: b: c\n", "1:5", "mapping values are not allowed here"),
        ("@foo: x\n", "1:1", "cannot start any token"),
        ("test:\n  command: x\n command: y\n", "3:2", "block end"),
        ("max_iterations: 1\n---\nmax_iterations: 2\n", "2:1", "another document"),
        ("max_iterations: 1\x07\n", "1:18", "special characters are not allowed"),
        ("# ok\nmax_iterations: \x00\n", "2:17", "special characters are not allowed"),
        ("? [a, b]\n: c\n", "1:3", "a key must be text"),
        ("? {a: b}\n: c\n", "1:3", "a key must be text"),
        ("1: x\n", "1:1", "a key must be text"),
        ("null: x\n", "1:1", "a key must be text"),
        ("on: x\n", "1:1", "a key must be text"),
        ("test:\n  env:\n    yes: x\n", "3:5", "a key must be text"),
        ("max_iterations: 1\nmax_iterations: 99\n", "2:1", "max_iterations: given twice"),
        ("test:\n  command: x\n  command: y\n", "3:3", "command: given twice"),
        ("test: {env: {A: x, A: y}}\n", "1:20", "A: given twice"),
        ("<<: {max_iterations: 1}\n", "1:1", "a key must be text"),
        ("- test\n", "1:1", "must be a mapping"),
        ("# comment\n\njust words\n", "3:1", "must be a mapping"),
        ("42\n", "1:1", "must be a mapping"),
        ("max_iterations: !!int 5\n", "1:17", "tags (`tag:yaml.org,2002:int`) are not allowed"),
        ("test: !!python/object/apply:os.system [id]\n", "1:7", "tags"),
        ("max_iterations: !!bool nonsense\n", "1:17", "tags"),
        ("max_iterations: !!timestamp nonsense\n", "1:17", "tags"),
        ("max_iterations: !!int ''\n", "1:17", "tags"),
        ("max_iterations: !local 5\n", "1:17", "tags"),
    ],
)
def test_bad_yaml_is_named_with_its_place(source: str, place: str, says: str) -> None:
    (problem,) = problems_of(source)
    assert problem.startswith(f"{place}: "), problem
    assert says in problem


# -- hostile files ----------------------------------------------------------------------------------


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{c}: &{c} [{', '.join(['*' + chr(ord(c) - 1)] * 10)}]" for c in "bcdefghijklmnop"]
    assert places_of("\n".join(lines))[0] == "2:8"
    assert "aliases (`*a`) are not allowed here" in problems_of("\n".join(lines))[0]


def test_a_bomb_of_merge_keys_is_refused_before_it_grows() -> None:
    lines = ["a: &a {k: v}"]
    lines += [f"{c}: &{c} {{<<: [{', '.join(['*' + chr(ord(c) - 1)] * 10)}]}}" for c in "bcdefghijklmnop"]
    assert "aliases" in problems_of("\n".join(lines))[0]


def test_a_value_that_contains_itself_is_refused() -> None:
    assert problems_of("protected_paths: &p [*p]\n")[0].startswith("1:22: aliases")


@pytest.mark.parametrize(
    "source",
    [
        "max_iterations: " + "9" * 5000,
        "max_iterations: 2024-99-99",
        "max_iterations: 2024-01-01T99:99:99Z",
    ],
    ids=["too many digits", "no such day", "no such hour"],
)
def test_a_scalar_that_only_looks_readable_is_refused(source: str) -> None:
    assert "cannot be read" in problems_of(source)[0] or "valid integer" in problems_of(source)[0]


def whole_file_of(piece: str) -> str:
    return (piece * LARGEST_FILE)[:LARGEST_FILE]


@pytest.mark.long
@pytest.mark.parametrize("piece", ["[", "{a: ", "- ", "? ", "{", "[a, ", "[[], "], ids=ascii)
def test_bottomless_nesting_is_refused(piece: str) -> None:
    (problem,) = problems_of(whole_file_of(piece))
    assert "nested too deeply" in problem


@pytest.mark.long
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "'",
        '"',
        "a: ",
        "k: v\n",
        "&a ",
        "%",
        "[],",
        "- a\n",
        ":",
        "|\n",
        "\\",
        "[]: ",
        "{}\n",
        "!a ",
        "*a ",
        "-",
    ],
    ids=ascii,
)
def test_the_largest_file_of_anything_ends(piece: str) -> None:
    assert problems_of(whole_file_of(piece))


def test_a_huge_file_is_not_even_read() -> None:
    assert problems_of(b"# " + b"x" * LARGEST_FILE) == ["longer than 64 KiB"]
    assert parse_repo_config(b"#" + b"x" * (LARGEST_FILE - 1)) == RepoConfig()


@pytest.mark.parametrize("source", [b"\xff\xfea\x00", "max: é".encode("latin-1"), b"\xed\xa0\x80"])
def test_what_is_not_utf8_is_refused(source: bytes) -> None:
    assert "not UTF-8" in problems_of(source)[0] or "special characters" in problems_of(source)[0]


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_a_configuration_or_a_refusal(source: bytes) -> None:
    try:
        assert isinstance(parse_repo_config(source), RepoConfig)
    except ConfigurationError as refused:
        assert str(refused).startswith(".fixwright.yml:")


pieces = st.sampled_from(
    [
        *(
            "test",
            "env",
            "command",
            ":",
            ": ",
            "\n",
            "\n  ",
            "- ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            "&a ",
            "*a",
            "<<",
        ),
        *("!!int ", "? ", "'", '"', "#", "|", ">", "---\n", "%", "1", "yes", "~", "2001-01-01", ".inf", "0x"),
        *("1:2", "=", "\t", "\\", "\u2028"),
    ]
)


@given(st.lists(pieces, max_size=25).map("".join))
def test_any_yaml_is_a_configuration_or_a_refusal(source: str) -> None:
    try:
        assert isinstance(parse_repo_config(source.encode()), RepoConfig)
    except ConfigurationError as refused:
        assert str(refused).startswith(".fixwright.yml:")


def test_the_schema_can_be_published() -> None:
    schema = json.loads(json.dumps(RepoConfig.model_json_schema()))
    assert schema["additionalProperties"] is False
    assert {"test", "setup", "protected_paths", "labels", "commit"} < set(schema["properties"])
    assert not set(schema["properties"]) & set(NOT_YET)
    for section in (schema, *schema["$defs"].values()):
        assert all(entry.get("description") or "$ref" in entry for entry in section["properties"].values())


def test_a_problem_without_a_place_names_the_file_alone() -> None:
    assert str(Problem(0, 0, "odd")) == ".fixwright.yml: odd"
    assert str(Problem(2, 3, "odd")) == ".fixwright.yml:2:3: odd"


def test_the_cost_cap_is_exactly_what_is_written() -> None:
    assert parse_repo_config(b"max_cost_per_task_usd: 0.1\n").max_cost == Decimal("0.1")
    assert parse_repo_config(b"").max_cost is None


def test_a_setup_is_read_with_its_defaults() -> None:
    config = parse_repo_config(
        b"setup:\n  commands: [npm ci, make deps]\n  hosts: [a.example, 'b.example:8443']\n"
    )
    assert config.setup.commands == ["npm ci", "make deps"]
    assert config.setup.hosts == ["a.example", "b.example:8443"] and config.setup.timeout_seconds == 900
    assert parse_repo_config(None).setup.commands is None and parse_repo_config(None).setup.hosts == "auto"
    assert parse_repo_config(b"setup: {commands: []}").setup.commands == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("setup: {commands: 'npm ci'}", "setup.commands"),
        ("setup: {commands: ['']}", "setup.commands.0"),
        ("setup: {hosts: ['https://a.example/x']}", "setup.hosts"),
        ("setup: {hosts: any}", "setup.hosts"),
        ("setup: {timeout_seconds: 0}", "setup.timeout_seconds"),
        ("setup: {network: all}", "setup.network"),
    ],
)
def test_a_wrong_setup_is_refused_at_its_place(text: str, where: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"\.fixwright\.yml:1:.*{where}"):
        parse_repo_config(text.encode())


# -- how a repository wants work to be done ----------------------------------------------------------

CONTRACT = b"""\
labels:
  defect: bug
  Good First Issue: tidy
categories:
  tidy:
    evidence: suite
    instructions: Keep the public interface as it is.
    commit_type: refactor
working_directory: ./packages/api/
base_branch: "release/#12"
branch_prefix: bot/
commit: {style: conventional, sign_off: true}
pull_request: {reviewers: [mika, robin-2], template: true}
max_minutes: 10
max_attempts: 1
max_daily_cost_usd: 0.7
"""


def test_a_contract_is_read() -> None:
    config = parse_repo_config(CONTRACT)
    assert config.kinds() == {"defect": Category.BUG, "Good First Issue": Category.CHORE}
    assert config.categories["tidy"].instructions == "Keep the public interface as it is."
    assert [config.commit_type(name) for name in ("tidy", "bug", "docs")] == ["refactor", "fix", "docs"]
    assert (config.working_directory, config.base_branch) == ("packages/api", "release/#12")
    assert (config.branch_prefix, config.commit.style, config.commit.sign_off) == (
        "bot/",
        "conventional",
        True,
    )
    assert config.pull_request.reviewers == ["mika", "robin-2"] and config.pull_request.template
    assert (config.max_minutes, config.max_attempts, config.max_daily_cost) == (10, 1, Decimal("0.7"))


@pytest.mark.parametrize(
    ("evidence", "kind"),
    [("failing_test", Category.BUG), ("suite", Category.CHORE), ("documentation", Category.DOCS)],
)
def test_a_category_of_ones_own_is_judged_by_the_evidence_that_it_asks_for(
    evidence: str, kind: Category
) -> None:
    config = parse_repo_config(f"categories: {{own: {{evidence: {evidence}}}}}".encode())
    assert config.judged_as("own") is kind
    assert config.judged_as(kind) is kind


@pytest.mark.parametrize(
    ("source", "place", "says"),
    [
        ("labels: {x: tidy}", "1:10", "no category `tidy`; known here: bug, chore, docs"),
        ("labels:\n  Bug: bug\n  bug: chore", "3:3", "given twice"),
        ("labels: {'a,b': bug}", "1:10", "no comma"),
        ("labels: [bug]", "1:1", "labels: Input should be a valid dictionary"),
        ("categories: {bug: {evidence: suite}}", "1:14", "`bug` has its own rules"),
        ("categories: {own: {}}", "1:14", "categories.own.evidence: Field required"),
        ("categories: {own: {evidence: none}}", "1:20", "'failing_test', 'suite' or 'documentation'"),
        ("working_directory: /etc", "1:1", "a directory of this repository"),
        ("working_directory: a/../../b", "1:1", "a directory of this repository"),
        ("working_directory: a/.git", "1:1", "a path of letters"),
        ("working_directory: -x", "1:1", "a path of letters"),
        ("working_directory: $(id)", "1:1", "a path of letters"),
        ("base_branch: --upload-pack=x", "1:1", "not the name of a branch"),
        ("base_branch: refs/heads/x", "1:1", "not the name of a branch"),
        ("base_branch: 'a b'", "1:1", "git takes no branch with ' '"),
        ("base_branch: fixwright/issue-3", "1:1", "are made for issues"),
        ("base_branch: fixwright/issue-3\nbranch_prefix: bot/", "1:1", "are made for issues"),
        ("max_minutes: " + "9" * 400, "1:1", "less than or equal to 1000000"),
        ("max_attempts: 1000001", "1:1", "less than or equal to 1000000"),
        ("max_daily_cost_usd: 1.0e+300", "1:1", "less than or equal to 1000000"),
        ("base_branch: bot\nbranch_prefix: bot/", "2:1", "beside the branch `bot`"),
        ("branch_prefix: ''", "1:1", "a prefix has 1 to 60"),
        ("branch_prefix: -f", "1:1", "a prefix has 1 to 60"),
        ("branch_prefix: a..b", "1:1", "a prefix has 1 to 60"),
        ("pull_request: {reviewers: ['@mika']}", "1:28", "without `@`"),
        ("pull_request: {reviewers: [acme/core]}", "1:28", "teams cannot be asked"),
        ("commit: {style: gitmoji}", "1:10", "commit.style: Input should be 'category', 'conventional' or"),
        ("commit: {sign_off: 'yes'}", "1:10", "commit.sign_off: Input should be a valid boolean"),
    ],
)
def test_a_wrong_contract_is_named_with_its_place(source: str, place: str, says: str) -> None:
    (problem,) = problems_of(source)
    assert problem.startswith(f"{place}: "), problem
    assert says in problem


@pytest.mark.parametrize(
    "source", ['labels: {"\\UFFFFFFFF": bug}', 'labels: {"\\U00110000": bug}', "test: {command: 2024-13-45}"]
)
def test_a_character_or_a_date_that_there_is_not_is_named(source: str) -> None:
    (problem,) = problems_of(source)
    assert "a value that cannot be read" in problem


@pytest.mark.parametrize("name", ["release/#12", "feat(core)-x", "a+b", "\u00fcn\u00ef", "v1.x"])
def test_every_branch_that_git_takes_may_be_the_base(name: str) -> None:
    assert parse_repo_config(f"base_branch: '{name}'".encode()).base_branch == name


@pytest.mark.parametrize(
    ("source", "nearest"),
    [
        ("tset: {}", "test"),
        ("protected-paths: []", "protected_paths"),
        ("Protected Paths: []", "protected_paths"),
        ("protectedpaths: []", "protected_paths"),
        ("test: {comand: x}", "command"),
        ("test: {timeout: 3}", "timeout_seconds"),
        ("commit: {signoff: true}", "sign_off"),
        ("categories: {own: {evidence: suite, instruction: x}}", "instructions"),
        ("reviewers: []", "pull_request.reviewers"),
        ("l\u0430bels: {}", "labels"),
        ("\uff4cabels: {}", "labels"),
        ("wholly_unlike_anything: 1", ""),
        ("x: 1", ""),
    ],
)
def test_the_nearest_key_is_named(source: str, nearest: str) -> None:
    problems = check_repo_config(source.encode())
    assert isinstance(problems, tuple)
    assert [problem.nearest for problem in problems] == [nearest]
    assert (f"did you mean `{nearest}`?" in problems[0].message) is bool(nearest)


def test_a_character_that_only_looks_right_is_named() -> None:
    assert "U+0430 is cyrillic small letter a" in problems_of("l\u0430bels: {}")[0]
    assert "U+200B" in problems_of("'labels\u200b': {}")[0]


@pytest.mark.parametrize("key", sorted(NOT_YET))
def test_a_key_that_is_still_to_come_is_told_from_a_wrong_one(key: str) -> None:
    (problem,) = problems_of(f"{key}: plan")
    assert NOT_YET[key] in problem and "leave it out" in problem


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("on: x", "YAML takes it for true"),
        ("test: {env: {NO: x}}", "YAML takes it for false"),
        ("~: x", "YAML takes it for nothing"),
        ("test: {command: no}", "YAML takes `no` for false, so put it in quotes"),
        ("test: {env: {PORT: 8080}}", "YAML takes `8080` for a number"),
        ("test: {env: {DAY: 2024-01-01}}", "YAML takes `2024-01-01` for a date"),
        ("test:\n\tcommand: x", "never with tabs"),
    ],
)
def test_what_yaml_makes_of_a_word_is_said(source: str, says: str) -> None:
    assert says in problems_of(source)[0]


@pytest.mark.parametrize("number", ["010", "0x10", "1:30", "0b11", "1:30.5"])
def test_a_number_that_is_not_what_it_looks_like_is_refused(number: str) -> None:
    (problem,) = problems_of(f"max_iterations: {number}")
    assert problem.startswith(f"1:17: `{number}` is another number")


@pytest.mark.parametrize("source", ["test:\n", "commit: ~", "setup: null"])
def test_an_empty_section_is_told_from_a_wrong_one(source: str) -> None:
    (problem,) = problems_of(source)
    assert problem.endswith("Input should be a valid dictionary; it is empty: leave it out")


@pytest.mark.long
def test_a_flood_of_keys_is_not_even_looked_at() -> None:
    flood = "".join(f"k{number}: 1\n" for number in range(1001))
    assert problems_of(flood) == ["1:1: more than 1000 entries under one another"]
    assert problems_of("test:\n  env:\n" + "".join(f"    V{number}: x\n" for number in range(1001)))


def test_plain_numbers_are_numbers() -> None:
    assert parse_repo_config(b"max_iterations: 1_000").max_iterations == 1000
    assert parse_repo_config(b"max_cost_per_task_usd: 0.50").max_cost == Decimal("0.5")
    assert parse_repo_config(b"max_iterations: 0").max_iterations == 0


def test_a_check_gives_each_problem_in_the_files_order() -> None:
    problems = check_repo_config(b"zzz: 1\nmax_attempts: 0\nlabels: {a: b}\n")
    assert isinstance(problems, tuple)
    assert [problem.line for problem in problems] == [1, 2]
    assert isinstance(check_repo_config(CONTRACT), RepoConfig)
