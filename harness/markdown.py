"""Pieces of Markdown that every text for people is made of; what comes from outside is made inert first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from domain.allowing import is_allowable
from domain.events import COMMAND_PREFIX
from domain.fitting import fitted, length
from domain.model import Check, Finding, RunStatus, Severity, TestRun
from domain.text import clip, fence, inert, one_line, plain, quoted

MOST_FINDINGS = 50
"""Findings that a text lists, the ones that refuse first."""

SHOWN = 5
"""Lines of a list that are read at a glance; what is more is folded."""

MOST_ITEMS = 200
"""Lines of a folded list."""

LONGEST_LIST = 4_500
"""UTF-16 units of a list; several of them, and all else, have to fit into one text."""

GLANCE = 700
"""Characters of somebody's words that are read at a glance."""


def section(title: str, body: str) -> str:
    """Return a part of a page under its heading, or "" where there is nothing to say."""
    return f"### {title}\n\n{body}" if body else ""


def page(sections: Sequence[str]) -> str:
    """Return the parts that are not empty as one page that fits every forge."""
    return fitted("\n\n".join(part for part in sections if part))


def folded(title: str, body: str) -> str:
    """Return Markdown that is shown when its title is clicked. The title is ours, the body is ready."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def code(text: str, limit: int = 300) -> str:
    """Return an inline code span that its content cannot end, and that cannot break a table row."""
    safe = one_line(plain(text), limit).replace("`", "'").replace("|", "\\|")
    return f"`{safe}`" if safe else "–"


def code_list(items: Sequence[str]) -> str:
    """Return names as a list of code spans, the first few."""
    shown = [f"- {code(item)}" for item in items[:20]]
    return "\n".join([*shown, f"- … and {len(items) - 20} more"] if len(items) > 20 else shown)


def names(title: str, items: Sequence[str]) -> str:
    """Return a titled list of names; a long one is folded, so that its title says how many there are."""
    if len(items) <= SHOWN:
        return f"{title}:\n{code_list(items)}" if items else ""
    return folded(f"{title}: {len(items)}", _as_many_as_fit([f"- {code(item)}" for item in items]))


def _as_many_as_fit(lines: Sequence[str], more: int = 0) -> str:
    """Return the first lines of a list, and how many are left out, `more` of them already."""
    kept: list[str] = []
    size = 0
    for line in lines[:MOST_ITEMS]:
        size += length(line) + 1
        if size > LONGEST_LIST:
            break
        kept.append(line)
    left = len(lines) - len(kept) + more
    return "\n".join([*kept, *([f"- … and {left} more"] if left else [])])


def words_of(text: str, limit: int = 2500) -> str:
    """Return somebody's words as a quotation: what is read at a glance, and the whole of it folded."""
    text = text.strip()
    if len(text) <= GLANCE:
        return quoted(text)
    head = text[:GLANCE].rsplit(None, 1)[0]
    return f"{quoted(f'{head} …')}\n\n{folded('All of it', quoted(clip(text, limit)))}"


def sentence(text: str, limit: int) -> str:
    """Return outside text as one inert sentence with one full stop."""
    line = inert(one_line(text, limit))
    return line if not line or line.endswith((".", "!", "?", "…", ":")) else f"{line}."


def findings_list(findings: Sequence[Finding], asked: Collection[str] = ()) -> str:
    """Return findings as a list: what refuses, then what was allowed; many other warnings are folded.

    `asked` are the ids that maintainers are asked about: the words of all of them would be enough.
    """
    ordered = sorted(findings, key=lambda each: (each.severity != "critical", not each.allowed_by, each.rule))
    weighty = [each for each in ordered if each.severity is Severity.CRITICAL or each.allowed_by]
    shown = max(len(weighty), SHOWN)
    listed = list(_findings(ordered[:MOST_FINDINGS], asked))
    head, rest = listed[:shown], listed[shown:]
    beyond = max(0, len(ordered) - MOST_FINDINGS)
    if not rest:
        return _as_many_as_fit(head, beyond)
    return f"{_as_many_as_fit(head)}\n\n{folded(f'{len(rest) + beyond} more', _as_many_as_fit(rest, beyond))}"


def _findings(findings: Sequence[Finding], asked: Collection[str]) -> Iterator[str]:
    """Yield each as an item; why it matters is said once for many of the same kind."""
    said = ""
    for finding in findings:
        yield _finding(finding, "" if finding.why == said else finding.why, asked)
        said = finding.why


def _finding(finding: Finding, why: str, asked: Collection[str]) -> str:
    """Return one finding; where it refuses, with the command that lets it pass, if that helps."""
    place = f"{finding.path}:{finding.line}" if finding.line > 0 else finding.path
    by = f", allowed by {code('@' + finding.allowed_by)}" if finding.allowed_by else ""
    said = (
        f"- **{inert(one_line(finding.rule, 40))}** ({finding.severity}{by}) {code(place)}: "
        f"{sentence(finding.what, 300)} {sentence(why, 300)}"
    ).rstrip()
    if finding.severity is not Severity.CRITICAL:
        return said
    if finding.id in asked:
        return f"{said}\n  A maintainer may allow it: `{COMMAND_PREFIX} allow {finding.id}`"
    if is_allowable(finding):
        return f"{said}\n  To allow it would not be enough: more stands against this change."
    return f"{said}\n  Nobody can waive this: it has to be mended."


def run_table(runs: Sequence[TestRun]) -> str:
    """Return test runs as a table, folded commands below; only what the harness itself ran may be given."""
    rows = ["| run | result | tests | seconds | tree |", "|---|---|---|---|---|"]
    rows += [
        f"| {run.name} | {colour(run)}, {_exit(run)} | {counts(run)} | {run.seconds:.1f} | "
        f"{code(run.tree[:12])} |"
        for run in runs
    ]
    commands = "\n".join(f"{run.name}: {plain(run.command)}" for run in runs)
    return "\n".join(rows) + "\n\n" + folded("Exact commands", fence(clip(commands, 4000)))


def _exit(run: TestRun) -> str:
    """Return a run's exit status; why it is green all the same is said where that is not plain."""
    if run.status is not RunStatus.PASSED or run.exit_code == 0 or not run.note:
        return f"exit {run.exit_code}"
    why = inert(one_line(run.note, 200)).replace("|", "\\|")
    return f"exit {run.exit_code} {why}"


def colour(run: TestRun | Check) -> str:
    """Return what a run or a check came to, in a word or two."""
    return {RunStatus.PASSED: "green", RunStatus.FAILED: "red"}.get(run.status, str(run.status))


def counts(run: TestRun) -> str:
    """Return how many tests did what."""
    pairs = ((run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped"))
    return ", ".join(f"{count} {word}" for count, word in pairs if count) or "–"


def output_block(title: str, output: str) -> str:
    """Return command output in a folded block that it cannot break out of."""
    return folded(inert(title), fence(clip(plain(output), 6000)))
