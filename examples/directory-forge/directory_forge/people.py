"""What people do on a directory forge. They would use an editor and git; tests and demos use this."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from directory_forge.forge import new_comment, new_issue, set_label
from directory_forge.plugin import NAME
from directory_forge.records import BOT_ID, Home, Record, Records
from domain.errors import ForgeError
from domain.model import Actor, IssueRef, Permission

_COMMITTER = ["-c", "user.name=Somebody", "-c", "user.email=somebody@localhost"]


class People:
    """Everybody but the service. Nobody's permission is asked."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.records = Records(root)

    # -- people and repositories --------------------------------------------------------------------

    def person(self, login: str) -> Actor:
        """Register somebody. Raises ForgeError where the login is taken."""
        with self.records.changing():
            people = self.records.people()
            if any(each["login"] == login and not each.get("gone") for each in people.values()):
                raise ForgeError(f"the login {login!r} is taken")
            number = str(self.records.new_id())
            self.records.save_people(people | {number: {"login": login, "bot": False}})
        return Actor(id=number, login=login)

    def change_person(self, person: Actor, **facts: str | bool) -> Actor:
        """Change somebody's `login`, or set `gone`."""
        with self.records.changing():
            people = self.records.people()
            people[person.id].update(facts)
            self.records.save_people(people)
            return Actor(id=person.id, login=people[person.id]["login"])

    def repository(self, full_name: str, *, branch: str, private: bool, empty: bool) -> str:
        """Make a repository in which the service may write; returns its id."""
        with self.records.changing():
            facts = {"id": str(self.records.new_id()), "default_branch": branch, "private": private}
            home = Home(self.root / full_name, facts | {"archived": False, "permissions": {BOT_ID: "write"}})
            home.git_path.mkdir(parents=True)
            _run(home, "init", "--quiet", "--bare", f"--initial-branch={branch}", str(home.git_path))
            home.save()
        if not empty:
            self.push(home.facts["id"], branch, "README.md")
        return str(home.facts["id"])

    def rename(self, repository_id: str, full_name: str) -> None:
        """Give a repository another name."""
        with self.records.changing():
            target = self.root / full_name
            target.parent.mkdir(exist_ok=True)
            self.records.home(repository_id).path.rename(target)

    def archive(self, repository_id: str) -> None:
        """Make a repository read-only."""
        with self.records.changing():
            home = self.records.home(repository_id)
            home.facts["archived"] = True
            home.save()

    def grant(self, repository_id: str, person_id: str, permission: Permission) -> None:
        """Set what somebody may do."""
        with self.records.changing():
            home = self.records.home(repository_id)
            home.facts["permissions"][person_id] = permission.value
            home.save()

    def push(self, repository_id: str, branch: str, path: str) -> str:
        """Put a commit that writes a file on a branch, new or not; returns its sha."""
        home = self.records.home(repository_id)
        start = home.sha(branch) or home.sha(home.facts["default_branch"])
        blob = _run(home, "hash-object", "-w", "--stdin", given=path)
        _run(home, "read-tree", start or "--empty")
        _run(home, "update-index", "-z", "--index-info", given=f"100644 {blob}\t{path}\0")
        parents = ["-p", start] if start else []
        commit = _run(home, *_COMMITTER, "commit-tree", _run(home, "write-tree"), *parents, "-m", "Change")
        _run(home, "update-ref", f"refs/heads/{branch}", commit)
        return commit

    # -- issues and pull requests -------------------------------------------------------------------

    def open_issue(self, repository_id: str, by: Actor, title: str, body: str) -> IssueRef:
        """Open an issue."""
        with self.records.changing():
            record = new_issue(self.records.home(repository_id), by=by.id, title=title, body=body)
            record.write()
        return IssueRef(forge=NAME, repository_id=repository_id, number=record.head["number"])

    def set_label(self, issue: IssueRef, by: Actor, label: str, *, added: bool) -> None:
        """Put a label on, or take it off."""
        with self.records.changing():
            record = self.records.home(issue.repository_id).issue(issue.number)
            set_label(record, label, added=added, by=by.id)
            record.write()

    def comment(self, issue: IssueRef, by: Actor, body: str) -> str:
        """Write a comment; returns its id."""
        with self.records.changing():
            home, number = self.records.home(issue.repository_id), self.records.new_id()
            new_comment(home, issue.number, number, by=by.id, body=body)
        return str(number)

    def edit_comment(self, issue: IssueRef, comment_id: str, body: str | None) -> None:
        """Change a comment, or delete it (None)."""
        with self.records.changing():
            path = self.records.home(issue.repository_id).path / f"{issue.number:04d}" / f"{comment_id}.md"
            if body is None:
                path.unlink()
            else:
                record = Record.read(path)
                record.body = body
                record.write()

    def open_pull(self, repository_id: str, by: Actor, head: str, base: str) -> int:
        """Open a pull request; returns its number."""
        with self.records.changing():
            pull = {"head": head, "base": base, "draft": False, "merged": False}
            home = self.records.home(repository_id)
            record = new_issue(home, by=by.id, title="Mine", body="", pull=pull)
            record.write()
        return int(record.head["number"])

    def close(self, repository_id: str, number: int, *, merged: bool = False) -> None:
        """Close an issue or a pull request, and merge that if told to."""
        with self.records.changing():
            home = self.records.home(repository_id)
            record = home.issue(number)
            record.head["state"] = "closed"
            if "pull" in record.head:
                pull = record.head["pull"]
                pull |= {"merged": merged, "last_sha": home.sha(pull["head"])}
                if merged:
                    _run(home, "update-ref", f"refs/heads/{pull['base']}", pull["last_sha"])
            record.write()


def _run(home: Home, *arguments: str, given: str = "") -> str:
    done = subprocess.run(
        ["git", "--git-dir", str(home.git_path), *arguments],
        input=given.encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise ForgeError(f"git {arguments[0]}: {json.dumps(done.stderr.decode(errors='replace'))}")
    return done.stdout.decode().strip()
