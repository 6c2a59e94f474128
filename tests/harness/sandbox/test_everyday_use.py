"""What a command may do all the same: threads, subprocesses, servers of its own, a name."""

from __future__ import annotations

import platform

import pytest

from harness.sandbox.container import ContainerSandbox
from harness.sandbox.environment import USER_ID
from harness.sandbox.session import CommandSession


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the other ABI of x86_64")
def test_threads_and_subprocesses_still_work(confined: CommandSession) -> None:
    script = (
        "import subprocess, threading, multiprocessing as m; "
        "t = threading.Thread(target=print, args=('thread',)); "
        "t.start(); t.join(); print(subprocess.check_output(['echo', 'child']).decode().strip()); "
        "print(m.get_context('fork').Pool(2).map(abs, [-1, -2]))"
    )
    result = confined.run(f'python3 -c "{script}"', 20)
    assert result.output == "thread\nchild\n[1, 2]\n"


def test_a_server_can_be_used_within_one_command(confined: CommandSession) -> None:
    result = confined.run(
        "echo served > page; python3 -m http.server 8000 2>/dev/null & "
        "for n in {1..200}; do (exec 3<>/dev/tcp/localhost/8000) 2>/dev/null && break; sleep 0.05; done; "
        "python3 -c \"import urllib.request as u; print(u.urlopen('http://localhost:8000/page').read())\"",
        30,
    )
    assert "b'served\\n'" in result.output
    assert "left in the background, ended with this command: python3" in result.output


def test_the_user_inside_has_a_name_and_is_not_root(back_end, confined: CommandSession) -> None:
    inside = confined.identity.uid if isinstance(back_end, ContainerSandbox) else USER_ID
    assert confined.run("id -un; id -u; hostname; pwd; echo ~; umask", 10).output.split() == [
        "agent", str(inside), "sandbox", "/work", "/home/agent", "0022",
    ]  # fmt: skip
