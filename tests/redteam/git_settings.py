"""What an agent can leave in a worktree to make somebody else's git run a command or see another tree.

Data: name → shell script, run in the worktree. `$MARK` is a command that leaves a mark outside.
"""

from __future__ import annotations


def _config(*lines: str) -> str:
    return "".join(f"printf '%s\\n' '{line}' | sed \"s|MARK|$MARK|g\" >> .git/config\n" for line in lines)


def _attribute(rule: str, *config: str) -> str:
    return f"echo '{rule}' > .gitattributes\n" + _config(*config)


def _script(path: str) -> str:
    return f'mkdir -p "$(dirname {path})"\nprintf \'#!/bin/sh\\n%s\\n\' "$MARK" > {path}\nchmod 755 {path}\n'


_HOOKS = (
    "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-index-change", "pre-auto-gc",
    "reference-transaction", "post-rewrite", "fsmonitor-watchman", "post-merge", "pre-receive", "update",
)  # fmt: skip

CONFIGURED = {
    "core.fsmonitor": _config("[core]", "fsmonitor = MARK"),
    "core.sshCommand": _config("[core]", "sshCommand = MARK", '[remote "origin"]', "url = ssh://h/x"),
    "core.gitProxy": _config("[core]", "gitProxy = MARK", '[remote "origin"]', "url = git://h/x"),
    "core.askPass": _config("[core]", "askPass = MARK"),
    "core.editor": _config("[core]", "editor = MARK"),
    "core.pager": _config("[core]", "pager = MARK"),
    "core.alternateRefsCommand": _config("[core]", "alternateRefsCommand = MARK"),
    "core.worktree": 'mkdir -p "$ELSEWHERE"; echo victim > "$ELSEWHERE/a.py"\n'
    + 'printf "[core]\\n worktree = %s\\n" "$ELSEWHERE" >> .git/config\n',
    "core.bare": _config("[core]", "bare = true"),
    "core.excludesFile": "echo '*' > .git/all\n" + _config("[core]", "excludesFile = .git/all"),
    "core.attributesFile": "echo '* filter=x' > .git/attr\n"
    + _config("[core]", "attributesFile = .git/attr", '[filter "x"]', "clean = MARK; cat"),
    "core.untrackedCache": _config("[core]", "untrackedCache = true"),
    "core.splitIndex": _config("[core]", "splitIndex = true"),
    "core.sparseCheckout": "mkdir -p .git/info; echo '/none' > .git/info/sparse-checkout\n"
    + _config("[core]", "sparseCheckout = true", "sparseCheckoutCone = false"),
    "core.autocrlf": _config("[core]", "autocrlf = true", "eol = crlf"),
    "core.fileMode": _config("[core]", "fileMode = false", "symlinks = false", "ignoreCase = true"),
    "core.repositoryFormatVersion": _config(
        "[core]", "repositoryFormatVersion = 99", "[extensions]", "unknown = 1"
    ),
    "extensions.worktreeConfig": _config("[extensions]", "worktreeConfig = true")
    + 'printf "[core]\\n fsmonitor = %s\\n" "$MARK" > .git/config.worktree\n',
    "filter.clean": _attribute("*.py filter=x", '[filter "x"]', "clean = MARK; cat"),
    "filter.smudge": _attribute("*.py filter=x", '[filter "x"]', "smudge = MARK; cat"),
    "filter.process": _attribute("*.py filter=x", '[filter "x"]', "process = MARK", "required = true"),
    "filter.lfs": _attribute("*.py filter=lfs", '[filter "lfs"]', "process = MARK", "clean = MARK; cat"),
    "diff.external": _config("[diff]", "external = MARK"),
    "diff.command": _attribute("*.py diff=x", '[diff "x"]', "command = MARK"),
    "diff.textconv": _attribute("*.py diff=x", '[diff "x"]', "textconv = MARK; cat"),
    "merge.driver": _attribute("*.py merge=x", '[merge "x"]', "driver = MARK"),
    "gpg.program": _config(
        "[gpg]", "program = MARK", "[commit]", "gpgSign = true", "[push]", "gpgSign = if-asked"
    ),
    "gpg.ssh.defaultKeyCommand": _config(
        "[gpg]", "format = ssh", '[gpg "ssh"]', "defaultKeyCommand = MARK", "[commit]", "gpgSign = true"
    ),
    "credential.helper": _config("[credential]", "helper = !MARK"),
    "include.path": 'printf "[core]\\n fsmonitor = %s\\n" "$MARK" > .git/more\n'
    + _config("[include]", "path = more"),
    "includeIf": 'printf "[core]\\n fsmonitor = %s\\n" "$MARK" > .git/more\n'
    + _config('[includeIf "gitdir:**"]', "path = more"),
    "alias": _config(
        "[alias]", *(f"{verb} = !MARK" for verb in ("st", "add", "write-tree", "push", "diff-tree"))
    ),
    "url.insteadOf": _config('[url "ext::MARK % "]', "insteadOf = file://", "pushInsteadOf = file://"),
    "protocol.ext": _config("[protocol]", "allow = always", '[remote "origin"]', "url = ext::MARK"),
    "remote.uploadpack": _config('[remote "origin"]', "uploadpack = MARK", "receivepack = MARK"),
    "uploadpack.packObjectsHook": _config("[uploadpack]", "packObjectsHook = MARK"),
    "remote.mirror": _config(
        '[remote "origin"]', "mirror = true", "push = +refs/*:refs/*", "[push]", "followTags = true"
    ),
    "submodule.update": 'printf \'[submodule "s"]\\n path = s\\n update = !%s\\n\' "$MARK" > .gitmodules\n'
    + _config(
        '[submodule "s"]',
        "update = !MARK",
        "url = ext::MARK",
        "active = true",
        "[submodule]",
        "recurse = true",
    ),
    "gc.auto": _config("[gc]", "auto = 1", "recentObjectsHook = MARK", "[maintenance]", "auto = true"),
    "interactive.diffFilter": _config("[interactive]", "diffFilter = MARK"),
    "sequence.editor": _config("[sequence]", "editor = MARK"),
    "trailer.command": _config(
        '[trailer "x"]', "command = MARK", "ifmissing = add", "[trailer]", "ifexists = add"
    ),
    "commit.template": _config("[commit]", "template = /etc/passwd", "cleanup = strip"),
    "core.hooksPath": _script("tracked-hooks/pre-commit") + _config("[core]", "hooksPath = tracked-hooks"),
    "hook pre-commit": _script(".git/hooks/pre-commit"),
    "hook pre-push": _script(".git/hooks/pre-push"),
    "every other hook": "".join(_script(f".git/hooks/{name}") for name in _HOOKS),
}
"""Things in the configuration and the hooks of the agent's repository."""

STATE = {
    "info/attributes": "mkdir -p .git/info; echo '* text eol=crlf ident filter=x' > .git/info/attributes\n"
    + _config('[filter "x"]', "clean = MARK; cat"),
    "info/exclude": "mkdir -p .git/info; echo '*' > .git/info/exclude\n",
    "info/grafts": "git rev-parse HEAD > .git/info/grafts\n",
    "refs/replace": "other=$(echo x | git commit-tree HEAD^{tree}); git replace -f HEAD $other\n",
    "replaced blob": "git replace -f $(git rev-parse HEAD:b.py) $(echo other | git hash-object -w --stdin)\n",
    "shallow": "git rev-parse HEAD > .git/shallow\n",
    "objects/info/alternates": 'echo "$ELSEWHERE" > .git/objects/info/alternates\n',
    "commondir": 'echo "$ELSEWHERE" > .git/commondir\n',
    "index.lock": "touch .git/index.lock .git/HEAD.lock .git/config.lock .git/packed-refs.lock\n",
    "index assume-unchanged": "git update-index --assume-unchanged a.py b.py\n",
    "index skip-worktree": "git update-index --skip-worktree a.py b.py\n",
    "index garbage": "head -c 4096 /dev/urandom > .git/index\n",
    "split index": "git update-index --split-index\n",
    "moved refs": "git checkout -q --orphan gone\n"
    "git update-ref refs/heads/main $(echo x | git commit-tree HEAD^{tree}"
    " 2>/dev/null || git rev-parse refs/heads/main)\n",
    "HEAD to nowhere": "echo 'ref: refs/heads/../../../../x' > .git/HEAD\n",
    ".git gone": "rm -rf .git\n",
    ".git a file": 'rm -rf .git; echo "gitdir: $ELSEWHERE" > .git\n',
    ".git a link": 'mv .git "$ELSEWHERE.git"; ln -s "$ELSEWHERE.git" .git\n',
    ".git a pipe": "rm -rf .git; mkfifo .git\n",
    ".git unreadable": "chmod 000 .git\n",
    "pipe in .git": "rm -f .git/config .git/index; mkfifo .git/config .git/index\n",
    "config a pipe of .git/info": "mkdir -p .git/info; rm -f .git/info/exclude; mkfifo .git/info/exclude\n",
    "committed by the agent": "git commit -qam mine; git tag v9; git branch other\n",
    "attributes working-tree-encoding": "echo '* working-tree-encoding=UTF-16' > .gitattributes\n",
    "attributes ident": "echo '* ident' > .gitattributes\n",
    "attributes eol": "echo '* text eol=crlf' > .gitattributes\n",
    "attributes macros": "echo '[attr]text filter=x' > .gitattributes; echo '* binary' >> .gitattributes\n",
    "ignore everything": "echo '*' > .gitignore; echo '!.gitignore' >> .gitignore\n",
    "ignore file a link": "rm -f .gitignore; ln -s a.py .gitignore\n",
    "attributes file a link": "rm -f .gitattributes; ln -s a.py .gitattributes\n",
    "mailmap": "echo 'Other <o@x> <person@example.invalid>' > .mailmap\n",
    "lfsconfig": "printf '[lfs]\\n url = ext::%s\\n' \"$MARK\" > .lfsconfig\n",
    "tracked config names": "echo '[core]' > config; mkdir hooks; echo x > hooks/pre-commit; echo x > HEAD\n",
}
"""Things elsewhere in the agent's repository and in its worktree."""

HOSTILE = CONFIGURED | STATE

_OTHER_ATTACKS = {
    "core.worktree": 69, "commondir": 69, "remote.mirror": 73, "submodule.update": 77,
    "core.autocrlf": 82, "commit.template": 84, "mailmap": 84, "lfsconfig": 81, "index.lock": 83,
    "tracked config names": 76, ".git a file": 76, ".git a pipe": 75, "pipe in .git": 75,
    "config a pipe of .git/info": 75, "info/attributes": 82, "info/exclude": 82,
    "attributes working-tree-encoding": 82, "attributes ident": 82, "attributes eol": 82,
    "attributes macros": 82, "ignore everything": 82, "ignore file a link": 82,
    "attributes file a link": 82,
}  # fmt: skip
_FIRST_SETTING, _MOVED_REFERENCES = 27, 71


def _numbered() -> dict[str, int]:
    """Number the attacks: 27 to 68 are the 42 settings, the others are known by what they aim at."""
    plain = [name for name in CONFIGURED if name not in _OTHER_ATTACKS]
    numbers = {name: _FIRST_SETTING + place for place, name in enumerate(plain)}
    return numbers | {
        name: _OTHER_ATTACKS.get(name, _MOVED_REFERENCES) for name in HOSTILE if name not in numbers
    }


NUMBERS = _numbered()
"""Name → the attack's number."""
