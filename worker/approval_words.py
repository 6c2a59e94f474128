"""What is said at the gates: what waits, and what became of a word about it. Pure, short, factual."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from domain.approving import ApproveRefusal, Gate, Waiting
from domain.events import COMMAND_PREFIX, Given
from domain.model import Publication
from domain.text import clip, fence, revealed
from harness import report
from harness.markdown import code, folded, page
from worker import answers

BODY_LIMIT = 14_000
"""Characters of a pull request's text; a comment holds 65,536, and the difference has to fit, too."""

THUMBS = " A thumb up (👍) on this comment says the same; I look for one every minute or so."

DIFFERENCE_LIMIT = 28_000
"""Characters of a difference."""

_JOINER = "\u2060"
"""What we put into outside text so that it does nothing: no reader has to decide about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A finished change before it is pushed. `patch` is its difference without live secrets.

    `base` is the branch it is for; `kept_as` names the file that holds the whole difference, "" for none.
    """

    publication: Publication
    base: str
    patch: str
    kept_as: str = ""

    @property
    def is_long(self) -> bool:
        """Tell whether a comment can show only a part of the difference."""
        return len(revealed(self.patch)) > DIFFERENCE_LIMIT


def proposal_words(proposal: Proposal, *, anew: bool = False, thumbs: bool = False) -> str:
    """Show exactly what would be pushed, and how to have it. `anew`: another change was approved before.

    `thumbs` says that a thumb up on this comment counts, too.
    """
    ready, tree = proposal.publication, proposal.publication.tree
    again = (
        "What was approved before was another change (the work was done again, or the base has moved on); "
        "this one needs a word of its own."
    )
    facts = [
        f"- Branch: {code(ready.branch)}, for {code(proposal.base)}",
        f"- Title: {code(revealed(_plain(ready.title)))}",
        f"- Tree: `{tree}`",
        f"- Commit: `{ready.commit_sha}`",
    ]
    return page(
        [
            "**Ready, and waiting for a maintainer's word.** It is verified, and nothing is pushed.",
            again if anew else "",
            "\n".join(facts),
            f"Next: a maintainer reads it and writes `{COMMAND_PREFIX} approve`, which publishes exactly "
            f"this as a draft (`{COMMAND_PREFIX} approve {tree[:12]}` names it).{THUMBS if thumbs else ''} "
            f"`{COMMAND_PREFIX} retry` "
            f"has me try again, with what has been said since; `{COMMAND_PREFIX} cancel` rejects it.",
            _difference(proposal),
            folded("The text of the pull request", _fenced(_plain(ready.body), BODY_LIMIT, "markdown")),
        ]
    )


def _difference(proposal: Proposal) -> str:
    digest = hashlib.sha256(proposal.patch.encode("utf-8", "replace")).hexdigest()
    whole = f" Clipped here; the operator has all of it as {code(proposal.kept_as)}, beside the transcripts."
    note = f"SHA-256 of the whole difference: `{digest}`.{whole if proposal.is_long else ''}"
    shown = _fenced(proposal.patch, DIFFERENCE_LIMIT, "diff")
    return f"<details open><summary>The difference</summary>\n\n{shown}\n\n</details>\n\n{note}"


def _fenced(text: str, limit: int, language: str) -> str:
    return fence(clip(revealed(text), limit), language)


def _plain(text: str) -> str:
    return text.replace(_JOINER, "")


def approved(login: str, waiting: Waiting, given_by: Given = Given.COMMENT) -> str:
    """Answer a maintainer who approved what waits."""
    by = f"{report.raised_by(login)}{' with a thumb up' if given_by is Given.REACTION else ''}"
    if waiting.gate is Gate.PLAN:
        return f"**Plan `{waiting.name[:12]}` approved by {by}.** I begin to work by it."
    return (
        f"**Approved by {by}:** exactly the tree `{waiting.name}`. If the base branch has moved on, the same "
        "change is verified on it once more before it is published; another change needs a word of its own."
    )


def not_approved(refusal: ApproveRefusal, waiting: Waiting | None) -> str:
    """Answer a maintainer whose word lets nothing through."""
    if waiting is None or refusal is ApproveRefusal.NOTHING_WAITS:
        return answers.NOTHING_TO_APPROVE
    name = f"`{COMMAND_PREFIX} approve {waiting.name[:12]}`"
    if refusal is ApproveRefusal.UNSEEN:
        why = "Your comment is older than what waits now, or I cannot tell."
    else:
        why = "What waits now has another name."
    return f"**Nothing is approved.** {why} If you mean what waits, write {name}."


def verified_again(base_sha: str) -> str:
    """Say that an approved change was carried onto a base that had moved on."""
    return (
        f"**The base branch had moved on since the approval.** The same change was verified again on "
        f"`{base_sha[:12]}`, and is published as it is there."
    )
