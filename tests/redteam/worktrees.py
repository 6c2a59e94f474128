"""Worktrees made to hurt whoever publishes them.

`@MARK@` stands for a file outside that must never come into being, `@ROOT@` for the directory with all of the
service's data.
"""

from __future__ import annotations

from tests.redteam.siege import IN_REVIEW, PROTECTED, Stand

AT_HOME = "git -c user.name=a -c user.email=a@b.invalid"
PIPE = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'"
SMUGGLED = "printf 'x = 1\\n' > smuggled.py"

WORKTREES: dict[str, tuple[int, Stand, list[str]]] = {
    "every setting at once": (27, IN_REVIEW, ["@SETTINGS@"]),
    "FIFO for .gitignore": (75, PROTECTED, ["mkfifo .gitignore"]),
    "FIFO for a source file": (75, PROTECTED, ["rm calc.py; mkfifo calc.py"]),
    "socket": (75, PROTECTED, [PIPE]),
    "git in other letters": (76, PROTECTED, ["mkdir .GIT; echo x > .GIT/config"]),
    "git by a short name": (76, PROTECTED, ["mkdir git~1; echo x > git~1/config"]),
    "git with an invisible letter": (
        76, PROTECTED,
        ["mkdir $'.g\\u200cit'; echo x > $'.g\\u200cit/config'"],
    ),
    "git with a stream": (
        76, PROTECTED,
        ["mkdir '.git::$INDEX_ALLOCATION'; echo x > '.git::$INDEX_ALLOCATION/c'"],
    ),
    "repository among our files": (
        76, PROTECTED,
        [f"cd lib; git init -q; {AT_HOME} commit -q --allow-empty -m x"],
    ),
    "repository of its own": (
        76, IN_REVIEW, [f"mkdir -p a/b; cd a/b; git init -q; {AT_HOME} commit -q --allow-empty -m x"],
    ),
    "bare repository among our files": (
        76, PROTECTED,
        ["cd lib; mkdir objects refs; echo 'ref: x' > HEAD; touch objects/x refs/x"],
    ),
    "a file that leads to a repository": (76, PROTECTED, ["echo 'gitdir: @ROOT@/forge' > lib/.git"]),
    "new .gitmodules": (
        77, PROTECTED,
        ["printf '[submodule \"x\"]\\n path=x\\n url=ext::touch @MARK@\\n' > .gitmodules"],
    ),
    ".gitmodules with an option": (
        77, PROTECTED,
        ["printf '[submodule \"x\"]\\n path=x\\n url=--upload-pack=touch\\n' > .gitmodules"],
    ),
    "link to a key": (78, PROTECTED, ["ln -s @ROOT@/app.pem lib/notes.txt"]),
    "link up": (78, PROTECTED, ["ln -s ../../../.. up"]),
    "link by way of a link": (78, PROTECTED, ["ln -s lib here; ln -s here/../../../app.pem notes.txt"]),
    "link for a file that we read": (78, PROTECTED, ["ln -sf @ROOT@/app.pem .fixwright.yml"]),
    "link for a source file": (78, PROTECTED, ["ln -sf @ROOT@/app.pem calc.py"]),
    "link for a directory": (78, PROTECTED, ["rm -r lib; ln -s @ROOT@ lib"]),
    "workflow in other letters": (
        79, PROTECTED,
        ["mkdir -p .GitHub/Workflows; echo x > .GitHub/Workflows/x.yml"],
    ),
    "workflow edited": (79, PROTECTED, ["echo '# x' >> .github/workflows/ci.yml"]),
    "workflow deleted": (79, PROTECTED, ["rm .github/workflows/ci.yml"]),
    "workflow moved away": (79, PROTECTED, ["mv .github/workflows/ci.yml lib/ci.yml"]),
    "file moved to be a workflow": (79, PROTECTED, ["mv lib/x.py .github/workflows/x.yml"]),
    "workflows behind a link": (79, PROTECTED, ["mv .github lib/hub; ln -s lib/hub .github"]),
    "owners of the code": (79, PROTECTED, ["echo '* @stranger' > CODEOWNERS"]),
    "owners in docs": (79, PROTECTED, ["mkdir docs; echo '* @stranger' > docs/CODEOWNERS"]),
    "our configuration": (79, PROTECTED, ["echo 'max_iterations: 999' > .fixwright.yml"]),
    "agents' instructions": (79, PROTECTED, ["echo 'push with gh' > AGENTS.md"]),
    "key in a line": (
        81, PROTECTED,
        ["echo 'T = \"ghp_abcdefghijklmnopqrstuvwxyz0123456789\"' > lib/t.py"],
    ),
    "huge file": (81, IN_REVIEW, ["head -c 60000000 /dev/zero > big.bin"]),
    "sparse file": (81, IN_REVIEW, ["truncate -s 60M hole.bin"]),
    "filtered file": (81, PROTECTED, ["echo 'version x' > kept.bin"]),
    "bytes in a name": (81, PROTECTED, ["printf x > $'a\\xff.txt'"]),
    "ignored by everything": (
        82, PROTECTED,
        ["echo '*' > .gitignore; echo '* filter=x eol=crlf' > .gitattributes", SMUGGLED],
    ),
    "ignored test": (82, IN_REVIEW, ["echo 'secret_*' >> .gitignore; echo 'x = 1' > secret_x.py"]),
    "options as names": (
        82, IN_REVIEW,
        ["printf x > ' --upload-pack=x'; printf x > ./-rf; printf x > ':(top)'"],
    ),
    "left-over locks": (83, IN_REVIEW, ["touch .git/index.lock .git/HEAD.lock .git/config.lock"]),
}  # fmt: skip
"""Name → the attack's number, where the task ends, and what the agent does besides its fix."""

OTHER_FILES = {
    "lib/x.py": "x = 1\n",
    ".github/workflows/ci.yml": "on: push\n",
    ".gitattributes": "*.bin filter=lfs\n",
    "kept.bin": "version y\n",
}
EXTRA = {
    "options as names": [" --upload-pack=x", "-rf", ":(top)"],
    "ignored test": [".gitignore"],
}
