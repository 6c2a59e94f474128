"""The container back end's parts without an engine: arguments, filter, labels, and engines that misbehave."""

from __future__ import annotations

import errno
import json
import os
import socket
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import SandboxError
from domain.ports import SandboxPolicy
from harness.sandbox.container import ContainerSandbox
from harness.sandbox.container_arguments import GATE, Box, create_arguments
from harness.sandbox.container_engine import Engine, find_engine
from harness.sandbox.container_files import (
    proxy_socket,
    read_pid_file,
    refuse_engine_doors,
    remove_pid_files,
    write_guest_files,
)
from harness.sandbox.container_image import Image, look_up_image
from harness.sandbox.container_memory import counter_file
from harness.sandbox.container_owner import Owner, ourselves
from harness.sandbox.container_seccomp import engine_filter
from harness.sandbox.identity import Identity
from harness.sandbox.mounts import Mount
from harness.sandbox.places import EGRESS_SOCKET
from harness.sandbox.seccomp import system_call_filter
from harness.sandbox.system_calls import CHECKED, DENIED, MISSING, processor_of
from tests.harness.sandbox.test_seccomp import ALLOW, AUDIT, refused, verdict

PODMAN = Engine(
    program=Path("/usr/bin/podman"), name="podman", version="5.0", rootless=False, cgroup="v2", selinux=False
)
DOCKER = replace(PODMAN, program=Path("/usr/bin/docker"), name="docker", version="27.1")
BOX = Box(
    image=Image(id="sha256:abc", digest="sha256:def", variables={}, volumes=("/big",)),
    identity=Identity(59321, 59321, separate=True),
    labels={"fixwright.service": "one"},
    seccomp=Path("/state/seccomp.json"),
    files={"/etc/passwd": Path("/state/passwd")},
    mounts=(Mount(Path("/opt/kit"), PurePosixPath("/opt/kit")),),
    work=Path("/srv/tree"),
    scratch=Path("/srv/scratch"),
    egress=Path("/srv/proxy.sock"),
    environment={"PATH": "/usr/bin"},
    ulimits={"nofile": 4096},
    memory_bytes=1000,
    processes=10,
    tmpfs_bytes=500,
    yield_processor=True,
)


def made(engine: Engine, box: Box = BOX) -> list[str]:
    return create_arguments(engine, box, name="fixwright-1", command="echo hi")


def has(arguments: list[str], *words: str) -> bool:
    return any(tuple(arguments[at : at + len(words)]) == words for at in range(len(arguments)))


@pytest.fixture(params=[PODMAN, DOCKER], ids=["podman", "docker"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "words",
    [
        ("--pull", "never"), ("--network", "none"), ("--read-only",), ("--cap-drop", "ALL"),
        ("--ipc", "private"),
        ("--security-opt", "no-new-privileges"), ("--security-opt", "seccomp=/state/seccomp.json"),
        ("--user", "59321:59321"), ("--pids-limit", "18"), ("--memory", "1000"), ("--memory-swap", "1000"),
        ("--ulimit", "nofile=4096:4096"), ("--label", "fixwright.service=one"), ("--log-driver", "none"),
        ("--no-healthcheck",), ("--workdir", "/work"), ("--hostname", "sandbox"), ("--shm-size", "500"),
        ("--cgroupns", "private"), ("--oom-score-adj", "1000"), ("--userns", "host"),
        ("--entrypoint", "/usr/bin/env", "sha256:abc", "-i", "PATH=/usr/bin", "/bin/sh", "-c"),
    ],
)  # fmt: skip
def test_a_container_is_made_with(engine: Engine, words: tuple[str, ...]) -> None:
    assert has(made(engine), *words)


def test_what_could_give_rights_is_never_there(engine: Engine) -> None:
    told = made(engine)
    assert not [
        word
        for word in told
        if word.startswith(("--privileged", "--cap-add", "--device", "--pid=", "--volume"))
    ]
    assert "docker.sock" not in " ".join(told) and "podman.sock" not in " ".join(told)


def test_only_the_worktree_and_the_scratch_space_are_writable(engine: Engine) -> None:
    told = made(engine)
    mounts = [told[at + 1].split(",") for at, word in enumerate(told) if word == "--mount"]
    writable = {mount[2] for mount in mounts if "readonly" not in mount}
    assert writable == {"target=/work", "target=/tmp", "target=/var/tmp"}
    assert [mount[1:3] for mount in mounts][-1] == ["source=/srv/proxy.sock", f"target={EGRESS_SOCKET}"]


def test_the_command_is_one_argument_however_it_looks(engine: Engine) -> None:
    command = "--privileged\n; $(x)"
    told = create_arguments(engine, BOX, name="fixwright-1", command=command)
    assert told[-2] == command and told.index("sha256:abc") < told.index(command)


@pytest.mark.parametrize(
    ("name", "version", "writes"),
    [("podman", "4.3.1", True), ("podman", "3.2.0-dev", True), ("podman", "3.0.1", False),
     ("podman", "odd", False), ("docker", "27.1", False)],
)  # fmt: skip
def test_who_writes_a_pid_file(name: str, version: str, writes: bool) -> None:
    assert replace(PODMAN, name=name, version=version).writes_pid_files is writes


def test_a_pid_file_is_read_once_and_removed(tmp_path: Path) -> None:
    left = tmp_path / "fixwright-1-ab.pid"
    left.write_text("4321\n")
    assert read_pid_file(left) == "4321" and not left.exists()
    assert read_pid_file(left) == "" == read_pid_file(None)


def test_pid_files_that_were_left_are_removed(tmp_path: Path) -> None:
    for name in ("fixwright-1-ab.pid", "seccomp.json"):
        (tmp_path / name).touch()
    remove_pid_files(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["seccomp.json"]


def test_where_the_pid_goes_is_an_argument_before_the_image() -> None:
    told = create_arguments(PODMAN, BOX, name="n", command="true", pid_file=Path("/state/n.pid"))
    assert told.index("/state/n.pid") == told.index("--pidfile") + 1 < told.index("sha256:abc")
    assert "--pidfile" not in made(PODMAN)


def test_podman_adds_nothing_by_itself() -> None:
    told = made(PODMAN)
    for word in ("--read-only-tmpfs=false", "--http-proxy=false", "--no-hosts", "mask=/sys"):
        assert word in told
    assert has(told, "--image-volume", "ignore")


def test_docker_gets_none_of_podmans_words_and_no_volume() -> None:
    told = made(DOCKER)
    assert not {
        "--read-only-tmpfs=false",
        "--image-volume",
        "--http-proxy=false",
        "--no-hosts",
        "--systemd",
    } & set(told)
    assert any(word.startswith("/big:rw,") for word in told)
    assert any(word.startswith("/home/agent:rw,") and word.endswith(",exec") for word in told)


def test_rootless_podman_keeps_the_user_and_works_without_control_groups() -> None:
    told = made(replace(PODMAN, rootless=True, cgroup=""))
    assert has(told, "--userns", "keep-id")
    assert not {"--memory", "--pids-limit", "--cpus"} & set(told)


def test_selinux_is_told_not_to_stand_between(engine: Engine) -> None:
    assert has(made(replace(engine, selinux=True)), "--security-opt", "label=disable")


@pytest.mark.parametrize("name", ["/srv/a,b", '/srv/a"b', "/srv/a\nb"])
def test_a_name_that_would_end_a_mount_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(SandboxError, match="cannot be mounted"):
        made(engine, replace(BOX, work=Path(name)))


# The filter in JSON, judged as libseccomp would: the first rule that fits answers.


def judged(machine: str, name: str, *arguments: int) -> int:
    padded = [*arguments, *[0] * (6 - len(arguments))]
    for rule in json.loads(engine_filter(machine))["syscalls"]:
        if name in rule["names"] and all(_fits(each, padded) for each in rule.get("args", [])):
            return refused(rule["errnoRet"])
    return ALLOW


def _fits(comparison: dict[str, object], arguments: list[int]) -> bool:
    value, limit, other = (
        arguments[int(str(comparison["index"]))],
        comparison["value"],
        comparison["valueTwo"],
    )
    assert isinstance(limit, int) and isinstance(other, int)
    match comparison["op"]:
        case "SCMP_CMP_EQ":
            return value == limit
        case "SCMP_CMP_GT":
            return value > limit
        case "SCMP_CMP_MASKED_EQ":
            return value & limit == other
    raise AssertionError(comparison["op"])


BOTH = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


@BOTH
def test_both_forms_of_the_filter_refuse_the_same_calls(machine: str) -> None:
    column, program = processor_of(machine).column, system_call_filter(machine)
    for calls in (DENIED, MISSING):
        for name, numbers in calls.items():
            if (number := numbers[column]) is not None:
                assert judged(machine, name) == verdict(program, AUDIT[machine], number) != ALLOW


@BOTH
@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(CHECKED)),
    first=st.one_of(
        st.integers(0, 64), st.integers(0, 2**32 - 1), st.sampled_from([1 << n for n in range(32)])
    ),
    second=st.one_of(st.sampled_from([0x5412, 0x541C, 0x5401]), st.integers(0, 2**32 - 1)),
    above=st.sampled_from([0, 1 << 32, 0xFFFFFFFF << 32]),
)
def test_both_forms_judge_arguments_alike(
    machine: str, name: str, first: int, second: int, above: int
) -> None:
    number = CHECKED[name][processor_of(machine).column]
    assert number is not None
    assembled = verdict(system_call_filter(machine), AUDIT[machine], number, first, second | above)
    assert judged(machine, name, first, second | above) == assembled


@BOTH
@settings(max_examples=30)
@given(above=st.integers(1, 2**32 - 1), family=st.integers(0, 64))
def test_what_stands_above_a_family_never_lets_it_pass(machine: str, above: int, family: int) -> None:
    assert judged(machine, "socket", family | above << 32) == refused(errno.EAFNOSUPPORT)


def test_only_the_processors_own_calls_are_listed() -> None:
    assert json.loads(engine_filter("x86_64"))["architectures"] == ["SCMP_ARCH_X86_64"]
    with pytest.raises(SandboxError, match="riscv64"):
        engine_filter("riscv64")


# Engines that are missing, lie or fail.

PODMAN_INFO = (
    '{"host": {"security": {"rootless": false}, "cgroupVersion": "v2", '
    '"cgroupControllers": ["memory", "pids"]}}'
)
DOCKER_INFO = (
    '{"ServerVersion": "27.1.1", "CgroupVersion": "2", "SecurityOptions": ["name=seccomp,profile=builtin"]}'
)


def fake(directory: Path, answers: dict[str, str], name: str = "engine") -> Path:
    """Write an engine that answers by its first word; it notes what it was asked, and fails otherwise."""
    cases = "\n".join(f"{word}) {script};;" for word, script in answers.items())
    program = directory / name
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {directory}/asked\n'
        f'case "$1" in\n{cases}\n*) echo "no $1" >&2; exit 125;; esac\n'
    )
    program.chmod(0o755)
    return program


def saying(text: str) -> str:
    return f"cat <<'END'\n{text}\nEND\n"


@pytest.mark.parametrize(
    ("version", "info", "expected"),
    [
        ("podman version 5.2.0", PODMAN_INFO, ("podman", "5.2.0", "v2")),
        ("Docker version 27.1.1, build 6312585", DOCKER_INFO, ("docker", "27.1.1", "v2")),
        (
            "podman version 4.3.1",
            PODMAN_INFO.replace("false", "true").replace("v2", "v1"),
            ("podman", "4.3.1", ""),
        ),
        ("podman version 4.3.1", PODMAN_INFO.replace('"memory", ', ""), ("podman", "4.3.1", "")),
    ],
)
def test_an_engine_introduces_itself(
    tmp_path: Path, version: str, info: str, expected: tuple[str, ...]
) -> None:
    program = fake(tmp_path, {"--version": saying(version), "info": saying(info)})
    found = find_engine(str(program))
    assert (found.name, found.version, found.cgroup) == expected


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ({"--version": "echo something else"}, "neither docker nor podman"),
        ({"--version": "exit 3"}, "exit status 3"),
        ({"--version": saying("podman version 5"), "info": "echo nonsense"}, "not JSON"),
        ({"--version": saying("podman version 5"), "info": "echo '[]'"}, "not an object"),
        ({"--version": saying("Docker version 27"), "info": "echo cannot connect to the daemon >&2; exit 1"},
         "cannot connect to the daemon"),
        ({"--version": saying("Docker version 27"), "info": """echo '{"ServerErrors": ["no daemon"]}'"""},
         "no daemon"),
        ({"--version": saying("Docker version 27"),
          "info": """echo '{"SecurityOptions": ["name=rootless"]}'"""}, "use rootless podman"),
    ],
)  # fmt: skip
def test_an_engine_that_cannot_be_used_is_named(
    tmp_path: Path, answers: dict[str, str], complaint: str
) -> None:
    program = fake(tmp_path, answers)
    with pytest.raises(SandboxError, match=complaint):
        find_engine(str(program))


def test_podman_is_preferred_and_a_name_is_heeded(tmp_path: Path) -> None:
    for name, version, info in (
        ("docker", "Docker version 27", DOCKER_INFO),
        ("podman", "podman version 5", PODMAN_INFO),
    ):
        fake(tmp_path, {"--version": saying(version), "info": saying(info)}, name)
    assert find_engine("", [tmp_path]).name == "podman"
    assert find_engine("docker", [tmp_path]).name == "docker"
    with pytest.raises(SandboxError, match="nerdctl is not installed"):
        find_engine("nerdctl", [tmp_path])
    with pytest.raises(SandboxError, match="neither podman nor docker"):
        find_engine("", [tmp_path / "empty"])


def test_a_program_that_others_can_change_is_not_used(tmp_path: Path) -> None:
    program = fake(tmp_path, {})
    program.chmod(0o757)
    with pytest.raises(SandboxError, match="changed by others"):
        find_engine(str(program))


ENV = ["PATH=/go/bin:/bin", "A=b=c", "BASH_ENV=/work/x"]


def usable(directory: Path, **answers: str) -> Path:
    image = json.dumps(
        [
            {
                "Id": "abc",
                "RepoDigests": ["x@sha256:1"],
                "Config": {"Env": ENV},
            }
        ]
    )
    words = {
        "--version": saying("podman version 5"),
        "info": saying(PODMAN_INFO),
        "image": saying(image),
        "rm": "exit 0",
    }
    return fake(directory, words | answers)


def test_an_image_says_what_is_in_it(tmp_path: Path) -> None:
    image = look_up_image(find_engine(str(usable(tmp_path))), "x")
    assert (image.id, image.digest, image.path) == ("abc", "sha256:1", ["/go/bin", "/bin"])
    assert image.variables["A"] == "b=c"


@pytest.mark.parametrize(
    "words", ["Error: x: image not known", "Error: No such image: x", "Error response: no such image"]
)
def test_a_missing_image_is_not_fetched(tmp_path: Path, words: str) -> None:
    engine = find_engine(str(usable(tmp_path, image=f"echo '{words}' >&2; exit 1")))
    with pytest.raises(SandboxError, match="podman pull x"):
        look_up_image(engine, "x")
    assert "pull" not in (tmp_path / "asked").read_text()


@pytest.mark.parametrize("name", ["", "--privileged"])
def test_an_image_must_be_named(name: str) -> None:
    with pytest.raises(SandboxError, match="FIXWRIGHT_SANDBOX_IMAGE"):
        look_up_image(PODMAN, name)


@pytest.fixture
def reachable(room: Path) -> Path:
    (room / "state").mkdir()
    return room / "state"


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ({"create": "echo no room >&2; exit 125"}, "engine create failed: no room"),
        ({"create": "echo not-an-id"}, "did not answer with a container's id"),
        (
            {"create": "echo " + "a" * 64, "start": "echo oh no; exit 126"},
            "could not start the container: oh no",
        ),
        ({"create": "echo " + "a" * 64, "start": "exit 0"}, "ended without a word"),
    ],
)
def test_a_container_that_cannot_be_had_is_an_error_and_is_removed(
    policy, room: Path, reachable: Path, uid: int | None, answers: dict[str, str], complaint: str
) -> None:
    program = usable(reachable, **answers)
    sandbox = ContainerSandbox(state=room / "s", image="x", uid=uid, engine=str(program), nice=False)
    with pytest.raises(SandboxError, match=complaint):
        sandbox.open(policy()).run("true", 5)
    assert (reachable / "asked").read_text().splitlines()[-1].startswith("rm --force --volumes --time 0 ")


# An engine that makes no container: it runs the words on the host. As nobody, for the sake of the host.
LIAR = """#!/usr/bin/python3
import os, pathlib, sys
kept = pathlib.Path(__file__).with_name("kept")
if sys.argv[1] == "create":
    kept.write_text("\\0".join(sys.argv))
    print("a" * 64)
elif sys.argv[1] == "start":
    words = kept.read_text().split("\\0")
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
    os.execv("/usr/bin/env", ["env", *words[words.index("-i"):]])
else:
    os.execv(str(kept.with_name("engine")), ["engine", *sys.argv[1:]])
"""


@pytest.mark.long
def test_an_engine_that_runs_things_on_the_host_is_found_out_before_anything_runs(
    room: Path, reachable: Path, as_root: int
) -> None:
    usable(reachable, ps="exit 0", container="echo 1")
    (reachable / "liar").write_text(LIAR)
    (reachable / "liar").chmod(0o755)
    sandbox = ContainerSandbox(
        state=room / "s", image="x", uid=as_root, engine=f"{reachable}/liar", nice=False
    )
    assert sandbox.isolation.startswith("podman 5 container, image sha256:1, separate uid")
    with pytest.raises(SandboxError, match="this is not the first process of a container"):
        sandbox.self_test()


def test_the_gate_looks_where_it_is_before_it_does_anything() -> None:
    """It kills all that it can see when the worker dies: on the host that would be the host."""
    assert GATE.startswith("if [ $$ -ne 1 ]; then") and GATE.index("exit 125; fi\n") < GATE.index("printf")
    kill = next(line for line in GATE.splitlines() if "kill" in line)
    assert "[ $$ -eq 1 ] && kill -KILL -1" in kill and GATE.count("kill ") == 1


def test_root_without_a_user_to_become_is_refused(as_root: int, reachable: Path, policy) -> None:
    sandbox = ContainerSandbox(state=reachable, image="x", uid=None, engine=str(usable(reachable)))
    for attempt in (sandbox.self_test, lambda: sandbox.open(policy())):
        with pytest.raises(SandboxError, match="user id of its own"):
            attempt()


# Owners, files, sockets, counters.

ME = Owner(service="one", process="10:20", boot="now", pids="pid:[1]")


@pytest.mark.parametrize(
    ("changes", "is_orphan"),
    [
        ({}, False),
        ({"fixwright.process": f"{os.getpid()}:{ourselves('x').process.partition(':')[2]}"}, False),
        ({"fixwright.process": f"{os.getpid()}:1"}, True),
        ({"fixwright.process": "999999999:1"}, True),
        ({"fixwright.process": "nonsense"}, True),
        ({"fixwright.boot": "before"}, True),
        ({"fixwright.pids": "pid:[2]"}, True),
        ({"fixwright.service": "two", "fixwright.boot": "before"}, False),
    ],
)
def test_an_orphan_is_what_a_dead_process_of_this_service_left(
    changes: dict[str, str], is_orphan: bool
) -> None:
    assert ME.is_orphan({**ME.labels, **changes}) is is_orphan


def test_the_user_data_base_has_the_users_own_number(tmp_path: Path) -> None:
    files = write_guest_files(tmp_path / "state", Identity(4321, 8765, separate=True))
    assert "agent:x:4321:8765:" in files["/etc/passwd"].read_text()
    assert "agent:x:8765:" in files["/etc/group"].read_text()
    assert files["/etc/passwd"].stat().st_mode & 0o777 == 0o444


@pytest.mark.parametrize("source", ["/", "/run", "/run/docker.sock", "/var/run/docker.sock", "/run/podman"])
def test_an_engines_door_is_never_shown(source: str) -> None:
    with pytest.raises(SandboxError, match="engine's socket"):
        refuse_engine_doors(Path(source))


def test_a_link_to_an_engines_door_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "harmless").symlink_to("/run")
    with pytest.raises(SandboxError, match="engine's socket"):
        refuse_engine_doors(tmp_path / "harmless")
    refuse_engine_doors(tmp_path)


def test_the_proxys_socket_is_a_socket_and_not_an_engines(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, complaint in ((tmp_path / "file", "not a socket"), (tmp_path / "none", "No such file")):
        with pytest.raises(SandboxError, match=complaint):
            proxy_socket(path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "docker.sock"))
        with pytest.raises(SandboxError, match="engine's socket"):
            proxy_socket(tmp_path / "docker.sock")


def test_the_count_of_kills_is_found_in_either_version(tmp_path: Path) -> None:
    for version, mount, entry, file in (
        (1, "cgroup", "4:memory:/box\n1:cpu:/box\n0::/box", "memory.oom_control"),
        (2, "cgroup2", "0::/box", "memory.events"),
    ):
        point = tmp_path / str(version)
        (point / "box").mkdir(parents=True)
        (point / "box" / file).write_text("oom_kill 1\n")
        (tmp_path / "entry").write_text(entry)
        options = "rw,memory" if version == 1 else "rw"
        (tmp_path / "mounts").write_text(f"{mount} {point} {mount} {options} 0 0\n")
        assert counter_file(tmp_path / "entry", tmp_path / "mounts") == point / "box" / file
    assert counter_file(tmp_path / "absent", tmp_path / "mounts") is None


def test_limits_of_the_policy_reach_the_container(
    policy, reachable: Path, room: Path, uid: int | None
) -> None:
    program = usable(reachable, create="echo " + "a" * 64, start="exit 0")
    sandbox = ContainerSandbox(state=room / "s", image="x", uid=uid, engine=str(program))
    wanted: SandboxPolicy = policy(
        memory_bytes=64 * 2**20, processes=12, file_bytes=2**20, env=MappingProxyType({"A": "1"})
    )
    with pytest.raises(SandboxError):
        sandbox.open(wanted).run("true", 5)
    told = next(line for line in (reachable / "asked").read_text().splitlines() if line.startswith("create "))
    for word in (
        "--memory 67108864",
        "--pids-limit 20",
        "fsize=1048576:1048576",
        "core=0:0",
        " A=1 ",
        "/go/bin:",
    ):
        assert word in told
    assert "BASH_ENV" not in told
