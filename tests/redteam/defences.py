"""The defences, each with what takes it away and the attacks of which at least one must then succeed.

A defence is taken away by replacing text in a copy of the source. Text that is not found exactly as often as
it says makes the check fail: a defence that was moved must be found again by a person.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement in one file. `times` is how often the text must be there."""

    path: str
    old: str
    new: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Defence:
    """What stands between, how it is switched off, and pytest's words for the attacks to try without it."""

    name: str
    edits: tuple[Edit, ...]
    attacks: tuple[str, ...]


A = "tests/redteam/test_a_sandbox.py"
LEVELS = "tests/redteam/test_a_levels.py"
B = "tests/redteam/test_b_resources.py"
C = "tests/redteam/test_c_git.py"
D = "tests/redteam/test_d_tokens.py"
E = "tests/redteam/test_e_text.py"
F = "tests/redteam/test_f_webhook.py"
SHARED = "tests/harness/sandbox/test_shared.py"
PROXY = "tests/harness/setup/test_proxy.py"
DOOR = "tests/app/test_door.py"

_PROFILE = "harness/sandbox/profile.py"
_LAUNCH = "harness/sandbox/launch.py"
_CONFIG = "domain/repo_yaml.py"
_RUNNER = "harness/git/runner.py"


def _one(name: str, path: str, old: str, new: str, *attacks: str) -> Defence:
    return Defence(name, (Edit(path, old, new),), attacks)


SANDBOX = (
    _one(
        "system-call filter", _PROFILE, '*("--seccomp", str(seccomp_fd), "--info-fd"', '*("--info-fd"',
        f"{A}::test_a11_system_calls_beyond_the_namespaces_are_refused",
    ),
    Defence(
        "user of its own",
        (
            Edit("harness/sandbox/becoming.py", "if not identity.separate:", "if True:"),
            Edit(_LAUNCH, "become = user.identity if user.by_copy else None", "become = None"),
        ),
        (f"{LEVELS}::test_a06_no_process_of_a_command_is_root_or_in_a_group_of_root",),
    ),
    _one(
        "refusal of user id 0", "harness/sandbox/identity.py", "if own == 0 and not uid:", "if False:",
        f"{LEVELS}::test_a06_root_without_a_user_to_become_is_refused",
    ),
    _one(
        "closing of descriptors", _LAUNCH,
        "close_fds=True, pass_fds=(word, *inherited)", "close_fds=False",
        f"{A}::test_a01_a_descriptor_that_the_worker_lets_its_children_inherit_is_not_inherited",
    ),
    _one(
        "empty environment", _LAUNCH, 'env={}, cwd="/"', 'env=None, cwd="/"',
        f"{A}::test_a01_no_environment_of_any_process_holds_a_secret",
    ),
    _one(
        "network namespace", _PROFILE, '"--unshare-all", ', '"--unshare-all", "--share-net", ',
        f"{A}::test_a16_the_hosts_loopback_and_the_world_cannot_be_reached",
    ),
    _one(
        "read-only root", _PROFILE, ', "--remount-ro", "/")', ")",
        f"{A}::test_a05_the_system_cannot_be_written",
    ),
    _one(
        "made-up /etc", _PROFILE, '*("--dir", "/etc", "--dir"', '*("--ro-bind", "/etc", "/etc", "--dir"',
        f"{A}::test_a03_host_paths_do_not_exist", f"{A}::test_a05_the_system_cannot_be_written",
    ),
    _one(
        "worktree alone of the data", _PROFILE, '*("--bind", str(profile.work), "/work"',
        '*("--bind", str(profile.work), "/work", "--ro-bind", str(profile.work.parent), "/data"',
        f"{A}::test_a03_host_paths_do_not_exist",
    ),
    _one(
        "no new user namespaces", "harness/sandbox/seccomp.py",
        'program += _on_call(processor.number("clone"), _refuse_new_namespaces())', "pass",
        f"{A}::test_a11_system_calls_beyond_the_namespaces_are_refused",
    ),
    _one(
        "self-test of the sandbox", "harness/sandbox/probe.py", "if problems:", "if False:",
        f"{LEVELS}::test_a07_a_bubblewrap_that_does_not_isolate_is_found_out",
    ),
    _one(
        "kill of the sandbox's init", _LAUNCH,
        "signal.pidfd_send_signal(self._init, signal.SIGKILL)", "pass",
        "tests/harness/sandbox/test_ending.py::test_b23_kills_during_the_start_leave_nobody",
        f"{SHARED}::test_b22_a_time_limit_holds_and_leaves_nobody",
    ),
    _one(
        "bounded output", "harness/sandbox/supervise.py", "if capture.seen > output_limit:", "if False:",
        f"{SHARED}::test_b21_a_flood_is_cut_off_in_bounded_memory",
    ),
    _one(
        "bounded memory of output", "harness/sandbox/capture.py",
        "if len(self._tail) > 2 * self._tail_limit:", "if False:",
        f"{SHARED}::test_b21_a_flood_is_cut_off_in_bounded_memory",
    ),
    _one(
        "disk watch", "harness/sandbox/session.py",
        "if self._disk.exceeded(self._pid_of(launched)) else", "if False else",
        f"{SHARED}::test_b25_the_disk_limit_ends_a_command",
    ),
    _one(
        "time limit", "harness/sandbox/supervise.py",
        "if now >= self.deadline:", "if now >= self.deadline + 5:",
        f"{SHARED}::test_b22_a_time_limit_holds_and_leaves_nobody",
    ),
)  # fmt: skip

GIT = (
    _one(
        "git directory of its own", _RUNNER, "        command = [*self._leash, ",
        "        if place.work_tree is not None:\n"
        '            chosen.insert(0, f"include.path={place.work_tree}/.git/config")\n'
        "        command = [*self._leash, ",
        f"{C}::test_c27_to_c84_nothing_runs_and_the_pushed_tree_is_the_one_seen[c43 filter.clean]",
    ),
    _one(
        "git's settings", _RUNNER, 'chosen = [*settings(access.protocol if access else ""), *credential]',
        'chosen = ["protocol.allow=always", "safe.directory=*", *credential]',
        "tests/harness/test_git_push.py::test_c73_configured_push_settings_of_the_mirror_move_no_other_ref",
        f"{C}::test_c76_a_repository_whose_own_tree_hides_a_git_directory_is_refused",
    ),
    _one(
        "plumbing verbs only", _RUNNER, "if verb not in VERBS:", "if False:",
        "tests/harness/test_git_runner.py::test_c27_only_plumbing_verbs_run",
    ),
    _one(
        "git's empty environment", _RUNNER, "env=environment,\n", "env={**os.environ, **environment},\n",
        f"{D}::test_d89_a_git_that_is_told_to_talk_keeps_silent",
    ),
    _one(
        "attributes of our own", "harness/git/environment.py",
        'ATTRIBUTES = "* -text !eol !crlf -ident !working-tree-encoding\\n"', 'ATTRIBUTES = ""',
        f"{C}::test_c27_to_c84_nothing_runs_and_the_pushed_tree_is_the_one_seen[c82 attributes eol]",
    ),
    _one(
        "pre-scan: special files", "harness/change/scan.py",
        "        else:\n            raise refusal(\n                SPECIAL_FILE",
        "        elif False:\n            raise refusal(\n                SPECIAL_FILE",
        f"{C}::test_c27_to_c83_a_hostile_worktree_ends_as_it_must[c75 FIFO for .gitignore]",
    ),
    _one(
        "pre-scan: nested repositories", "harness/change/scan.py",
        'if prefix and ".git" in held:', "if False:",
        f"{C}::test_c27_to_c83_a_hostile_worktree_ends_as_it_must[c76 repository of its own]",
    ),
    _one(
        "links stay inside", "harness/change/names.py",
        'if not target or target.startswith("/")', 'return True\n    if not target or target.startswith("/")',
        f"{C}::test_c27_to_c83_a_hostile_worktree_ends_as_it_must[c78 link to a key]",
    ),
    _one(
        "protected paths", "harness/change/protected.py",
        "DEFAULT_PROTECTED = (*CI_DEFINITIONS,", "DEFAULT_PROTECTED = () and (*CI_DEFINITIONS,",
        f"{C}::test_c27_to_c83_a_hostile_worktree_ends_as_it_must[c79 workflow edited]",
    ),
    _one(
        "secrets in added lines", "harness/change/secrets.py", "hit = _first(line.text)", "hit = None",
        f"{C}::test_c27_to_c83_a_hostile_worktree_ends_as_it_must[c81 key in a line]",
    ),
    _one(
        "reading without links", "harness/testing/files.py", "os.O_RDONLY | os.O_NOFOLLOW |", "os.O_RDONLY |",
        f"{E}::test_c78_output_that_was_replaced_by_a_link_is_not_read",
    ),
    _one(
        "lease on the push", "harness/git/pushing.py", 'f"--force-with-lease={ref}:{lease}"', '"--force"',
        "tests/harness/test_git_push.py::test_d90_a_persons_commit_on_the_branch_is_never_overwritten",
    ),
    _one(
        "credential by memory file", "harness/git/credential.py", "cat /proc/self/fd/{descriptor};",
        "cat /proc/self/fd/{descriptor}; : {access.secret};",
        f"{D}::test_d85_no_process_and_no_file_shows_a_token_while_git_works",
    ),
)  # fmt: skip

TEXT = (
    _one(
        "redactor", "domain/redaction.py",
        "            text = text.replace(needle, _MARK)\n", "            pass\n",
        f"{D}::test_d89_a_forge_that_echoes_every_secret",
    ),
    _one(
        "nonce of the report", "harness/agent/conversation.py",
        "        nonce = secrets.token_hex(8)\n", '        nonce = "0123456789abcdef"\n',
        "tests/harness/agent/test_loop.py::test_e93_what_was_drawn_for_one_prompt_is_of_no_use_in_the_next",
    ),
    _one(
        "random delimiter of data", "harness/agent/conversation.py",
        "self._delimiter = secrets.token_hex(8)", 'self._delimiter = "data"',
        "tests/harness/agent/test_loop.py::test_e93_what_was_drawn_for_one_prompt_is_of_no_use_in_the_next",
    ),
    _one(
        "hidden text taken out", "domain/text.py",
        '_INVISIBLE.sub("", text))', "text)",
        f"{E}::test_e93_an_obedient_agent_does_all_that_a_text_asks_for[issue tag characters push]",
    ),
    _one(
        "maintainers' words only", "worker/readiness.py",
        "if is_writer[author.id] and own_words:", "if own_words:",
        f"{E}::test_e97_only_maintainers_words_on_the_issue_are_instructions",
    ),
    _one(
        "mentions made inert", "domain/text.py",
        '    return _MENTION.sub("@" + _BREAK, text)', "    return text",
        f"{E}::test_e106_what_we_post_pings_nobody_closes_nothing_and_loads_nothing",
    ),
    _one(
        "guard", "harness/guard/check.py", "return with_ids(change, ordered[:MAX_FINDINGS])", "return ()",
        f"{E}::test_e101_a_change_that_cheats_its_tests_is_no_fix",
    ),
    Defence(
        "safe YAML",
        (
            Edit(_CONFIG, "loader = yaml.SafeLoader(text)", "loader = yaml.UnsafeLoader(text)"),
            Edit(_CONFIG, "and event.tag is not None:", "and False:"),
        ),
        (f"{E}::test_e102_a_repository_s_configuration_is_data",),
    ),
)  # fmt: skip

DOORS = (
    _one(
        "signature", "app/intake.py",
        "if not dialect.verify(body, headers, self._secrets):", "if False:",
        f"{DOOR}::test_f107_an_unsigned_delivery_is_401_without_detail",
    ),
    _one(
        "fresh permission", "domain/policy.py",
        "return permission in _WRITERS and not actor.is_bot", "return True",
        f"{F}::test_f117_who_may_not_write_starts_nothing",
    ),
    _one(
        "no bots", "domain/policy.py",
        "if event.actor.is_bot or event.actor.id == serving.own_ids.get(event.issue.forge):", "if False:",
        f"{F}::test_f118_no_machine_s_label_starts_anything",
    ),
    _one(
        "list of repositories", "domain/policy.py",
        'return f"{forge}:{repository_name}".lower() in self.repositories', "return True",
        f"{F}::test_f119_a_repository_that_is_not_listed_gets_no_task",
    ),
    _one(
        "set-up: exact hosts", "harness/setup/rules.py",
        "raise Refused(Refusal(str(target), \"the operator", "str(Refusal(str(target), \"the operator",
        f"{PROXY}::test_a17_another_host_is_refused_by_name_with_the_line_that_allows_it",
    ),
    _one(
        "set-up: public addresses", "harness/setup/rules.py",
        "allowed = [text for text in found if self._is_allowed(ipaddress.ip_address(text))]",
        "allowed = list(found)",
        f"{PROXY}::test_a17_a_name_that_resolves_to_a_private_address_is_refused",
    ),
)  # fmt: skip

DEFENCES = (*SANDBOX, *GIT, *TEXT, *DOORS)
