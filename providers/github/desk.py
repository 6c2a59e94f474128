"""One operation on one repository: a token for it, calls below its path, a new token if it is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from domain.errors import ForgeError, NotFound
from providers.github import shapes
from providers.github.app import within
from providers.github.calls import Api, Json, Query, Reply, Unauthorized
from providers.github.directory import Directory, Place
from providers.github.needs import Need
from providers.github.tokens import YOUNG_SECONDS, Token, Tokens

Used = TypeVar("Used")


class Desk:
    """Where one operation's calls are made. Not for several threads at once."""

    def __init__(self, api: Api, tokens: Tokens, place: Place, need: Need) -> None:
        self._api = api
        self._tokens = tokens
        self._place = place
        self._need = need
        self.token = tokens.take(place.repository_id, place.installation_id, need)
        self._renewed = False

    @property
    def owner(self) -> str:
        """The account that the repository belongs to."""
        return self.token.full_name.partition("/")[0]

    def get(self, rest: str, query: Query | None = None) -> Reply:
        """Read what is at this path of the repository. Raises NotFound, ForgeError."""
        return self.call("GET", rest, query=query)

    def call(self, verb: str, rest: str, *, query: Query | None = None, body: Json | None = None) -> Reply:
        """Make a call below the repository's path; `rest` is "" or begins with a slash, and is quoted.

        A redirect is followed only to the same thing of the same repository: that is a rename. One to
        another repository says that a thing was transferred, and one to another host is refused, since the
        token would go there. Raises NotFound, ForgeError.
        """
        reply = self._authorized(
            lambda: self._api_call(verb, f"/repos/{self.token.full_name}{rest}", query, body)
        )
        if not reply.location:
            return reply
        path = f"/repositories/{self._place.repository_id}{rest}"
        if within(self._api, reply.location).partition("?")[0] != path:
            raise NotFound(f"it was moved out of the repository {self.token.full_name}, or is elsewhere now")
        reply = self._authorized(lambda: self._api_call(verb, path, query, body))
        if reply.location:
            raise ForgeError("GitHub sends us round in a circle")
        return reply

    def location(self, rest: str) -> str:
        """Return the address that GitHub gives out for a path instead of content. Raises ForgeError."""
        reply = self._authorized(
            lambda: self._api_call("GET", f"/repos/{self.token.full_name}{rest}", None, None)
        )
        if not reply.location:
            raise ForgeError("GitHub gave no address for it")
        return reply.location

    def anywhere(self, path: str) -> Reply:
        """Read what is at a path outside the repository, such as a user. Raises NotFound, ForgeError."""
        return self._authorized(lambda: self._api_call("GET", path, None, None))

    def items(self, rest: str, query: Query | None = None, key: str = "") -> Iterator[Json]:
        """Yield all of a list, page by page as it is asked for; `key` where the list stands in an object."""
        for reply in self._api.pages(lambda asked: self.get(rest, asked), query):
            content = shapes.part(reply.data).get(key) if key else reply.data
            yield from shapes.objects(content, rest.rpartition("/")[2])

    def graphql(self, query: str, variables: Json) -> Json:
        """Ask a question in GraphQL and return its data. Raises NotFound, PermissionRefused, ForgeError."""
        body = {"query": query, "variables": variables}
        reply = self._authorized(lambda: self._api_call("POST", self._api.graphql_path, None, body))
        return shapes.graphql_data(reply.data)

    def _api_call(self, verb: str, path: str, query: Query | None, body: Json | None) -> Reply:
        scope = f"installation {self._place.installation_id}"
        return self._api.call(verb, path, auth=self.token.auth, scope=scope, query=query, body=body)

    def _authorized(self, call: Callable[[], Reply]) -> Reply:
        """Call; where the token is refused, give a young one a moment, and try once with a new one."""
        patience = self._api.patience
        for number in itertools.count(1):
            try:
                return call()
            except Unauthorized as error:
                if self._age() <= YOUNG_SECONDS and number < patience.tries:
                    patience.sleep(patience.backoff(number + 1))
                    continue
                if self._renewed:
                    raise ForgeError(f"GitHub refuses a token that it has just given out: {error}") from None
                self._renewed = True
                self._renew()
        raise AssertionError("unreachable")

    def _age(self) -> float:
        return self._api.patience.now() - self.token.minted_at

    def _renew(self) -> None:
        old: Token = self.token
        self._tokens.drop(old)
        self.token = self._tokens.take(self._place.repository_id, self._place.installation_id, self._need)


class Desks:
    """Opens a desk for each operation."""

    def __init__(self, api: Api, tokens: Tokens, directory: Directory) -> None:
        self._api = api
        self._tokens = tokens
        self._directory = directory

    @contextmanager
    def at(self, repository_id: str, need: Need) -> Iterator[Desk]:
        """Yield a desk at a served repository; its token is revoked afterwards, unless it is kept.

        Raises NotFound, PermissionRefused, ForgeUnavailable, ForgeError.
        """
        desk = self._found(repository_id, lambda place: Desk(self._api, self._tokens, place, need))
        try:
            yield desk
        finally:
            self._tokens.give_back(desk.token)

    def mint(self, repository_id: str, need: Need) -> Token:
        """Return a new token that nobody else has, to be revoked by who asked. Raises like `at`."""
        return self._found(
            repository_id,
            lambda place: self._tokens.mint(place.installation_id, need, repository_id=repository_id),
        )

    def _found(self, repository_id: str, use: Callable[[Place], Used]) -> Used:
        """Use the place of a repository; look it up anew where the App has been installed again since."""
        place = self._directory.by_id(repository_id)
        try:
            return use(place)
        except NotFound:
            self._directory.forget(place)
            return use(self._directory.by_id(repository_id))
