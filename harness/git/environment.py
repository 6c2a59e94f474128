"""What git is told, all of it: the whole environment and every `-c` setting of each call. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

VERBS = frozenset(
    {
        "apply",
        "cat-file",
        "check-attr",
        "check-ignore",
        "checkout-index",
        "commit-tree",
        "count-objects",
        "diff-tree",
        "fetch",
        "for-each-ref",
        "hash-object",
        "init",
        "ls-remote",
        "ls-tree",
        "merge-base",
        "merge-tree",
        "pack-objects",
        "prune",
        "push",
        "read-tree",
        "repack",
        "rev-list",
        "rev-parse",
        "update-index",
        "update-ref",
        "write-tree",
    }
)
"""None of these reads a worktree's own configuration or starts anything; `apply` works on an index alone."""

ATTRIBUTES = "* -text !eol !crlf -ident !working-tree-encoding\n"
"""For `info/attributes`, which outranks every `.gitattributes`: bytes go in and out as they are."""

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.protectNTFS=true",
    "core.protectHFS=true",
    "core.bigFileThreshold=1m",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.ignoreCase=false",
    "core.precomposeUnicode=false",
    "core.quotePath=true",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "core.looseCompression=1",
    "core.askPass=/bin/false",
    "core.sshCommand=/bin/false",
    "core.gitProxy=/bin/false",
    "core.editor=/bin/false",
    "core.pager=cat",
    "credential.helper=",
    "credential.interactive=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "push.default=nothing",
    "push.gpgSign=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=/bin/false",
    "gc.auto=0",
    "maintenance.auto=false",
    "pack.threads=2",
    "protocol.allow=never",
    "http.followRedirects=false",
    "http.sslVerify=true",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    "safe.bareRepository=explicit",
    "safe.directory=*",
    "transfer.fsckObjects=true",
    "transfer.bundleURI=false",
    "i18n.commitEncoding=UTF-8",
)

# Faults of old commits that much used repositories carry and that harm nobody: no reason to serve them less.
_TOLERATED_FAULTS = (
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badName",
    "badTimezone",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "missingTaggerEntry",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
)


@dataclass(frozen=True, slots=True)
class Person:
    """A name and an e-mail address as they stand in a commit."""

    name: str
    email: str

    @classmethod
    def parsed(cls, text: str) -> Person:
        """Return the person that `Name <mail>` names."""
        name, _, mail = text.rpartition(" <")
        return cls(name, mail.removesuffix(">"))

    def cleaned(self) -> Person:
        """Return the person without what would break a commit's header, and never empty."""
        name, email = (re.sub(r"[<>\x00-\x1f]", "", part).strip() for part in (self.name, self.email))
        return Person(name or "unknown", email or "unknown@invalid")


DEFAULT_COMMITTER = Person("Fixwright", "fixwright@localhost")


def variables(committer: Person, protocol: str) -> dict[str, str]:
    """Return the complete environment of a call; nothing is inherited. `protocol` is "" for local work."""
    who = committer.cleaned()
    return {
        "PATH": SEARCH_PATH,
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "GIT_SSH_COMMAND": "/bin/false",
        "GIT_ALLOW_PROTOCOL": protocol or "none",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "/bin/false",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_AUTHOR_NAME": who.name,
        "GIT_AUTHOR_EMAIL": who.email,
        "GIT_COMMITTER_NAME": who.name,
        "GIT_COMMITTER_EMAIL": who.email,
    }


def settings(protocol: str) -> list[str]:
    """Return the `-c` settings of a call, as name=value."""
    chosen = [*_SETTINGS, *(f"fetch.fsck.{fault}=ignore" for fault in _TOLERATED_FAULTS)]
    if protocol:
        chosen.append(f"protocol.{protocol}.allow=always")
    return chosen
