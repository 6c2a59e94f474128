"""The embedded forge's refusals in GitHub's words."""

from __future__ import annotations

from app.demo.github.exchange import Refused
from domain.errors import ForgeError, NotFound


class refusing:
    """Turns the embedded forge's refusals into GitHub's 422, in GitHub's words."""

    def __init__(self, resource: str, head: str = "") -> None:
        self.resource = resource
        self.head = head

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if not isinstance(error, ForgeError) or isinstance(error, NotFound):
            return
        raise Refused(422, "Validation Failed", [self._details(str(error))]) from None

    def _details(self, said: str) -> dict[str, str]:
        custom = {"resource": self.resource, "code": "custom"}
        if "is open already" in said:
            return {**custom, "message": f"A pull request already exists for {self.head}."}
        if "no commits between" in said:
            return {**custom, "message": said.replace("there are no", "No").replace("'", "")}
        for field in ("base", "head"):
            if f"the {field} branch" in said:
                return {"resource": self.resource, "field": field, "code": "invalid"}
        if "blank" in said:
            return {"resource": self.resource, "field": "title", "code": "missing_field"}
        return {**custom, "field": "body", "message": said}
