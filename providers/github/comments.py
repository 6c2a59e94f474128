"""Our comments: found by their mark among all of an issue, written once, rewritten, never doubled."""

from __future__ import annotations

from domain.errors import NotFound
from domain.model import Actor, Comment
from providers.github import markers, shapes
from providers.github.desk import Desk


class CommentBook:
    """The comments of one issue or pull request, as the account `me` may write them."""

    def __init__(self, desk: Desk, number: int, me: Actor) -> None:
        self._desk = desk
        self._number = number
        self._me = me

    def all(self) -> tuple[Comment, ...]:
        """Return every comment, oldest first. Raises NotFound."""
        found = self._desk.items(f"/issues/{self._number}/comments")
        return tuple(shapes.comment(data) for data in found)

    def ensure(self, mark: str, body: str, *, rewrite: bool) -> Comment:
        """Return our comment with this mark, made if there is none, and with this text if `rewrite`.

        Raises NotFound, PermissionRefused, Ambiguous.
        """
        text = markers.marked(body, mark)
        mine = self._mine(mark)
        if not mine:
            return self._post(mark, text)
        first = self._single(mine)
        return self._patch(first, text) if rewrite and first.body != text else first

    def _post(self, mark: str, text: str) -> Comment:
        reply = self._desk.call("POST", f"/issues/{self._number}/comments", body={"body": text})
        posted = shapes.comment(shapes.obj(reply.data, "comment"))
        mine = self._mine(mark)
        return self._single(mine) if len(mine) > 1 else posted

    def _patch(self, comment: Comment, text: str) -> Comment:
        reply = self._desk.call("PATCH", f"/issues/comments/{comment.id}", body={"body": text})
        return shapes.comment(shapes.obj(reply.data, "comment"))

    def _single(self, mine: list[Comment]) -> Comment:
        """Keep the oldest of ours: GitHub would let two clients write the same comment at the same moment."""
        first, *doubles = mine
        for double in doubles:
            try:
                self._desk.call("DELETE", f"/issues/comments/{double.id}")
            except NotFound:
                continue
        return first

    def _mine(self, mark: str) -> list[Comment]:
        """Return our comments that end in this mark, oldest first; a stranger's copy of it is not ours."""
        mine = [c for c in self.all() if c.author.id == self._me.id and markers.is_marked(c.body, mark)]
        return sorted(mine, key=lambda comment: int(comment.id))
