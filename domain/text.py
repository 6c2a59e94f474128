"""Text from outside made safe to show: clipped, fenced, neutralised, redacted. All pure.

The order is: redact, then clip, then fence or neutralise. Each step may break what the earlier ones look for.
"""

from __future__ import annotations

import re
import unicodedata

from domain.blocks import block_start, broken_at, fence_start, rule_start
from domain.redaction import Redactor

__all__ = [
    "Redactor",
    "clip",
    "disarmed",
    "fence",
    "inert",
    "inert_line",
    "one_line",
    "plain",
    "quoted",
    "revealed",
    "visible",
]

_BREAK = "\u2060"
"""A word joiner: without width, no letter and no space, so that it parts a mark from what it would act on.

`visible` leaves it where it does that work, and so text stays inert whatever is done to it afterwards.
"""

# Every pattern here is linear: what repeats is possessive, or cannot match what comes after it.
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98-\x9f]*+(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # colours, cursor
    r"|\x1b[ -/]*+[0-~]"  # character sets, and the start of strings that never end
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2061-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    r"|(?<=[A-Za-z0-9]{2})\u2060++(?=\w)|(?<=\u2060)\u2060++"
)
_UNSEEN = re.compile(
    r"[\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    r"\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_GAP = re.compile(r"(?<=\S)[ \t]{40,}+(?=\S)")
_MARKS = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_FLOOD = re.compile(rf"({_MARKS}{{6}}){_MARKS}++")
"""More marks on one letter than any language has, which would cover the lines around it."""

_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HIDDEN_DEFINITION = re.compile(
    r"^ {0,3}\[(?:[^\[\]\\\n]|\\.)+\]:[ \t]*\S++[ \t]++(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\))[ \t]*$",
    re.MULTILINE,
)

_IMAGE = re.compile(r"!\[([^\[\]\n]*+)\](?:\([^()\n]*+\)|\[[^\[\]\n]*+\])")
_SCHEME = re.compile(r"\b(javascript|vbscript|data(?=:[a-z]+/))(?=:)", re.IGNORECASE | re.ASCII)
_MENTION = re.compile(r"(?<![A-Za-z0-9])@(?=[A-Za-z0-9_])")
_REFERENCE = re.compile(r"(#|!|\bGH-)(?=\d)", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?<![A-Za-z0-9])"
    r"(clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?|reopen(?:s|ed|ing)?)"
    r"(?=[^A-Za-z0-9]+(?:issues?[^A-Za-z0-9]+)?"
    r"(?:(?<=#)\d|https?:|[\w.-]{1,60}/[\w.-]{1,100}#\d|[A-Z]\w{1,20}-\d))",
    re.IGNORECASE | re.ASCII,
)
_ISSUE_URL = re.compile(
    r"(?<=/)(issues|pulls?|merge_requests|work_items|discussions)/(?=\d)", re.IGNORECASE | re.ASCII
)
_CI_NAMES = (
    r"(?:ci|cd|actions|circleci|travis|azurepipelines|azpipelines|azp|pipelines?|netlify|vercel|deploy)"
)
_SKIP_CI = re.compile(
    rf"\[(?=(?:skip|no)[ -]{_CI_NAMES}\]|{_CI_NAMES}[ -]skip\])|(?<=\*\*\*)(?=NO_CI\*)", re.IGNORECASE
)

_BACKTICKS = re.compile(r"`{3,}")


def plain(text: str) -> str:
    """Return text without terminal escapes, control characters and overwritten progress lines."""
    text = _ESCAPE_SEQUENCE.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    text = _CONTROL.sub("", text)
    return text.encode("utf-8", "replace").decode("utf-8")


def visible(text: str) -> str:
    """Return text as a reader of the page would see it: nothing hidden by HTML, Markdown or Unicode.

    A lone carriage return ends a line here, as it does in Markdown. An HTML comment that is never closed
    hides the rest, whatever stands around it: code that only looks like code could hide it from the reader.
    """
    text = plain(text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _HIDDEN_DEFINITION.sub("", _HTML_COMMENT.sub("", text))
    return _FLOOD.sub(r"\1", _INVISIBLE.sub("", text))


def revealed(text: str) -> str:
    """Return text for a reader who decides by it: the invisible by its name, gaps by their size."""
    shown = _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", plain(text))
    return _GAP.sub(lambda match: f" ⟨{len(match[0])} blanks⟩ ", shown)


def clip(text: str, limit: int) -> str:
    """Return at most `limit` characters: the head and the tail, with a note of how much was left out.

    Clip a part before it is fenced: a cut through a finished page could take the end of a fence away.
    """
    if len(text) <= limit:
        return text
    keep = limit - len(_left_out(len(text)))
    if keep <= 0:
        return text[: max(0, limit)]
    head = keep * 2 // 5
    tail = keep - head
    return text[:head] + _left_out(len(text) - keep) + text[-tail:]


def _left_out(count: int) -> str:
    return f"\n[… {count} characters left out …]\n"


def one_line(text: str, limit: int) -> str:
    """Return visible text as a single line of at most `limit` characters."""
    return _cut(" ".join(visible(text).split()), limit)


def inert_line(text: str, limit: int) -> str:
    """Return a single line for a title or a commit's subject: it pings nobody, closes and skips nothing.

    Titles are not Markdown, so nothing is escaped. At most `limit` characters, never ended inside one.
    """
    return _cut(_disarmed(one_line(text, len(text))), limit)


def disarmed(text: str) -> str:
    """Return the repository's own Markdown as it is, but that it pings nobody, closes and loads nothing."""
    return _SCHEME.sub(r"\1" + _BREAK, _disarmed(_IMAGE.sub(r"\1", text)))


def _cut(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    end = max(0, limit - 1)
    while end and _joins_the_last(line[end]):
        end -= 1
    return line[:end].rstrip() + "…" if limit > 0 else ""


def _joins_the_last(character: str) -> bool:
    """Tell whether a character is shown as part of the one before it (an accent, a skin tone)."""
    return unicodedata.combining(character) > 0 or "\U0001f3fb" <= character <= "\U0001f3ff"


def fence(text: str, language: str = "") -> str:
    """Return a Markdown code block that nothing inside can close: its fence is longer than any within."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def inert(text: str) -> str:
    """Return Markdown prose that pings nobody, closes nothing, loads nothing and contains no HTML.

    It also begins no block that could be taken for ours, or swallow what follows: no heading, rule, table,
    check box, alert, code fence, link definition, and no quick action at the start of a line.
    """
    return broken_at(_prose(text), fence_start, _BREAK)


def quoted(text: str) -> str:
    """Return inert text as a Markdown quotation; code blocks stay, since they end with the quotation."""
    return "\n".join("> " + line for line in _prose(text).strip().splitlines()) or "> (nothing)"


def _prose(text: str) -> str:
    text = _IMAGE.sub(r"\1", visible(text)).replace("![", f"!{_BREAK}[")
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = broken_at(text, rule_start, _BREAK)
    text = broken_at(text, block_start, _BREAK)
    return _SCHEME.sub(r"\1" + _BREAK, _disarmed(text))


def _disarmed(text: str) -> str:
    """Part every mention, reference, closing word and word to CI from what makes a forge act on it."""
    text = _CLOSING.sub(lambda match: f"{match[1][0]}{_BREAK}{match[1][1:]}", text)
    text = _ISSUE_URL.sub(r"\1/" + _BREAK, _REFERENCE.sub(r"\1" + _BREAK, text))
    text = _SKIP_CI.sub(lambda match: match[0] + _BREAK, text)
    return _MENTION.sub("@" + _BREAK, text)
