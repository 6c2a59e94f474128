"""Review threads of a pull request: read by GraphQL, which alone knows threads; answered by REST."""

from __future__ import annotations

from collections.abc import Iterator

from domain.errors import ForgeError, NotFound
from domain.model import Actor, Comment
from domain.ports import ReviewThread
from providers.github import markers, shapes
from providers.github.calls import MOST_PAGES, Json
from providers.github.desk import Desk
from providers.github.reading import login_now

_COMMENTS = """comments(first: 100, after: $inner) { pageInfo { hasNextPage endCursor } nodes {
  databaseId body createdAt url
  author { __typename login ... on User { databaseId } ... on Bot { databaseId } } } }"""

THREADS = (
    """query Threads($owner: String!, $name: String!, $number: Int!, $after: String, $inner: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 50, after: $after) { pageInfo { hasNextPage endCursor } nodes {
      id isResolved isOutdated path line """
    + _COMMENTS
    + " } } } } }"
)

THREAD = (
    """query Thread($id: ID!, $inner: String) { node(id: $id) { ... on PullRequestReviewThread { """
    + _COMMENTS
    + " } } }"
)


def threads(desk: Desk, pull_number: int) -> tuple[ReviewThread, ...]:
    """Return every thread with every comment. Raises NotFound."""
    return tuple(_thread(desk, node) for node in _nodes(desk, pull_number))


def _nodes(desk: Desk, pull_number: int) -> Iterator[Json]:
    owner, _, name = desk.token.full_name.partition("/")
    variables: dict[str, object] = {"owner": owner, "name": name, "number": pull_number}
    after: str | None = None
    for _ in range(MOST_PAGES):
        data = desk.graphql(THREADS, {**variables, "after": after, "inner": None})
        pull = shapes.part(data, "repository", "pullRequest")
        if not pull:
            raise NotFound(f"there is no pull request #{pull_number}")
        page = shapes.part(pull, "reviewThreads")
        yield from shapes.objects(page.get("nodes"), "review threads")
        after = _following(page)
        if after is None:
            return


def _thread(desk: Desk, node: Json) -> ReviewThread:
    page = shapes.part(node, "comments")
    found = shapes.objects(page.get("nodes"), "comments")
    after = _following(page)
    while after is not None and len(found) < 100 * MOST_PAGES:
        data = desk.graphql(THREAD, {"id": node.get("id"), "inner": after})
        page = shapes.part(data, "node", "comments")
        found += shapes.objects(page.get("nodes"), "comments")
        after = _following(page)
    line = node.get("line")
    return ReviewThread(
        id=shapes.text(node.get("id")),
        path=shapes.text(node.get("path")),
        line=line if isinstance(line, int) else None,
        is_resolved=node.get("isResolved") is True,
        is_outdated=node.get("isOutdated") is True,
        comments=tuple(_comment(each) for each in found),
    )


def _following(page: Json) -> str | None:
    info = shapes.part(page, "pageInfo")
    cursor = shapes.text(info.get("endCursor"))
    return cursor if info.get("hasNextPage") is True and cursor else None


def _comment(data: Json) -> Comment:
    author = shapes.part(data, "author")
    is_bot = author.get("__typename") == "Bot"
    login = shapes.text(author.get("login"))
    shown = {"id": author.get("databaseId"), "login": login, "type": "Bot" if is_bot else "User"}
    return Comment(
        id=str(shapes.whole(data.get("databaseId"), "comment's id")),
        author=shapes.actor(shown),
        body=shapes.text(data.get("body")),
        created_at=shapes.moment(data.get("createdAt"), "comment's time"),
        url=shapes.text(data.get("url")),
    )


def request(desk: Desk, pull_number: int, reviewer: Actor) -> None:
    """Ask an account for a review, by the name that it has now. Raises ForgeError, NotFound, Ambiguous.

    GitHub itself ignores whoever is asked already, and refuses who cannot read the repository.
    """
    login = login_now(desk, reviewer.id) if reviewer.id.isascii() and reviewer.id.isdecimal() else ""
    login = login or ("" if reviewer.id else reviewer.login)
    if not login:
        raise NotFound(f"there is no account {reviewer.id!r} to ask for a review")
    desk.call("POST", f"/pulls/{pull_number}/requested_reviewers", body={"reviewers": [login]})


def reply(desk: Desk, pull_number: int, thread: ReviewThread, mark: str, body: str, me: Actor) -> str:
    """Answer in a thread, once per mark; returns the comment's id. Raises NotFound, Ambiguous."""
    if not thread.comments:
        raise ForgeError("a thread without comments cannot be answered")
    ids = {comment.id for comment in thread.comments}
    for data in desk.items(f"/pulls/{pull_number}/comments"):
        written = shapes.comment(data)
        belongs = str(data.get("in_reply_to_id", "")) in ids
        if belongs and written.author.id == me.id and markers.is_marked(written.body, mark):
            return written.id
    path = f"/pulls/{pull_number}/comments/{thread.comments[0].id}/replies"
    answer = desk.call("POST", path, body={"body": markers.marked(body, mark)})
    return shapes.comment(shapes.obj(answer.data, "comment")).id
