"""Which commands of the agent run under the argv policy: one allowed program, no shell, paths inside."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.agent.command_paths import LeadsOut, LinkAt, require_inside
from harness.agent.command_words import Unusable, Words, split_command

SHELLS = frozenset({
    "sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "pdksh", "oksh", "lksh", "yash", "posh",
    "csh", "tcsh", "fish", "rc", "es", "elvish", "nu", "xonsh", "pwsh", "powershell", "busybox",
    "toybox", "sash",
})  # fmt: skip
STARTERS = frozenset({
    "env", "xargs", "exec", "eval", "command", "builtin", "source", "trap", "nohup", "setsid",
    "timeout", "time", "nice", "ionice", "stdbuf", "script", "scriptreplay", "unshare", "nsenter",
    "chroot", "su", "sudo", "sudoedit", "doas", "pkexec", "runuser", "setpriv", "capsh", "flock",
    "watch", "parallel", "expect", "unbuffer", "entr", "at", "batch", "cron", "crontab", "screen",
    "tmux", "dtach", "systemd-run", "start-stop-daemon", "chrt", "taskset", "choom", "prlimit",
    "strace", "ltrace", "gdb", "lldb", "ld.so", "ld-linux", "ld-linux-x86-64.so", "bwrap", "firejail",
    "docker", "podman", "nerdctl", "kubectl", "buildah", "runc", "crun", "run-words",
})  # fmt: skip
NETWORKERS = frozenset({
    "curl", "wget", "nc", "ncat", "netcat", "socat", "ssh", "scp", "sftp", "sshfs", "ssh-keygen",
    "ssh-add", "ssh-agent", "rsync", "rsh", "rlogin", "telnet", "ftp", "tftp", "lftp", "aria2c", "axel",
    "lynx", "w3m", "links", "elinks", "httpie", "http", "https", "xh", "nmap", "ping", "dig",
    "nslookup", "host", "gh", "glab", "hub",
})  # fmt: skip
REFUSED = SHELLS | STARTERS | NETWORKERS
"""Refused even if they are listed: what they run, or where they send it, no list could tell any more."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_VARIANT = re.compile(r"(?:[-._]?(?:[0-9][0-9.]*|openbsd|traditional|static|real|distrib|linux|classic))+\Z")
_STARTING_OPTIONS: dict[str, tuple[str, ...]] = {
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
    "tar": ("--to-command", "--checkpoint-action", "--use-compress-program", "-I", "--rsh-command",
            "--info-script", "--new-volume-script", "-F"),
    "git": ("-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--exec", "-x",
            "--open-files-in-pager", "--ext-diff", "--textconv", "--extcmd"),
    "rg": ("--pre", "--hostname-bin"),
    "sort": ("--compress-program",),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "zip": ("-TT", "--unzip-command"),
    "sed": (),
}  # fmt: skip
_SHELL_VERBS: dict[str, frozenset[str]] = {
    "git": frozenset({"config", "filter-branch", "difftool", "mergetool", "bisect", "submodule", "daemon"}),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command is not run, in words that the model can act on."""

    why: str


@dataclass(frozen=True, slots=True)
class CommandPolicy:
    """The programs that may run, by bare name. `helpers` are the harness' own, which always may."""

    allowed: frozenset[str]
    helpers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, allowed: Iterable[str], helpers: Iterable[str] = ()) -> CommandPolicy:
        """Make a policy of names; those that are refused in any case are left out."""
        return cls(frozenset(name for name in allowed if not is_refused(name)), frozenset(helpers))

    @property
    def programs(self) -> tuple[str, ...]:
        """Every program that may run, sorted."""
        return tuple(sorted(self.allowed | self.helpers))

    def judge(self, command: str, link_at: LinkAt, directory: str = "") -> Words | Refusal:
        """Return the words to execute, or why not. `link_at` tells the links in the worktree.

        `directory` is where in it the command begins.
        """
        try:
            words = split_command(command)
            self._require_allowed(words.words[0])
            program, arguments = words.words[0], words.words[1:]
            _require_no_starting(program, arguments)
            require_inside(program, arguments, link_at, directory)
        except (Unusable, LeadsOut) as problem:
            return Refusal(str(problem))
        return words

    def _require_allowed(self, program: str) -> None:
        shown = program if len(program) <= 80 else program[:80] + "…"
        if is_refused(program.rpartition("/")[2]):
            raise Unusable(f"`{shown}` is refused here, whatever the list says; {self._told}")
        if "/" in program:
            raise Unusable(f"`{shown}`: name a program by its bare name, without a path; {self._told}")
        if re.match(r"[A-Za-z_]\w*=", program):
            raise Unusable(f"`{shown}`: no variable can be set in front of a command; {self._told}")
        if not _NAME.fullmatch(program) or program not in self.allowed | self.helpers:
            raise Unusable(f"`{shown}` is not on the list of allowed programs; {self._told}")

    @property
    def _told(self) -> str:
        return f"these may be run, one at a time: {', '.join(self.programs)}"


def is_refused(name: str) -> bool:
    """Tell whether a program is refused even if listed, also as a version of it (bash5, nc.openbsd)."""
    plain = name.lower().removesuffix(".exe")
    return plain in REFUSED or _VARIANT.sub("", plain) in REFUSED


def _require_no_starting(program: str, arguments: tuple[str, ...]) -> None:
    """Refuse options by which a harmless program starts another one. Raises Unusable."""
    for argument in arguments:
        for option in _STARTING_OPTIONS.get(program, ()):
            long_form = option.startswith("--") and argument.startswith(f"{option}=")
            attached = len(option) == 2 and argument.startswith(option) and not argument.startswith("--")
            if argument == option or long_form or attached:
                raise Unusable(f"`{program} {argument[:80]}` is refused: it can start other programs")
    verbs = _SHELL_VERBS.get(program, frozenset())
    verb = next((argument for argument in arguments if not argument.startswith("-")), "")
    if verb in verbs:
        raise Unusable(f"`{program} {verb}` is refused: it can start other programs")
