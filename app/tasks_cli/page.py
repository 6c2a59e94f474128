"""A task with its whole transcript as one page of HTML: no script, nothing from elsewhere, all text inert."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping

from app.api.models import RunDetail
from app.api.news import StreamEvent
from app.tasks_cli.reading import run_lines
from domain.text import plain

_STYLE = """
:root { color-scheme: light dark; --edge: color-mix(in srgb, currentColor 25%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--edge); }
pre { padding-left: .7rem; }
details { border: 1px solid var(--edge); border-radius: 4px; margin: .5rem 0; padding: .3rem .7rem; }
summary { cursor: pointer; }
.role { font-size: .85em; font-weight: 600; }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page_of(run: RunDetail, events: Iterable[StreamEvent]) -> str:
    """Return the page."""
    title = f"Task {run.id}: {run.title}"
    body = [
        f"<h1>{_safe(title)}</h1>",
        f"<pre>{_safe(chr(10).join(run_lines(run)))}</pre>",
        "<h2>What happened</h2>",
        *(part for event in events for part in _event(event)),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _event(event: StreamEvent) -> Iterator[str]:
    data = event.data
    if event.kind == "move":
        reason = f" ({data['reason']})" if data["reason"] else ""
        yield f"<p>{_safe(data['at'])} <strong>{_safe(data['state'])}</strong>{_safe(reason)}</p>"
    elif event.kind == "phase":
        yield f"<p>{_safe(data['name'])}, {_safe(data['seconds'])} s. {_safe(data['note'])}</p>"
    elif event.kind == "step":
        yield f"<details><summary>Step {_safe(data['step'])}, ${_safe(data['cost'] or '0')}</summary>"
        entries = data["entries"]
        for entry in entries if isinstance(entries, list) else []:
            yield from _entry(entry)
        yield "</details>"
    else:
        said = data.get(event.kind)
        text = said if isinstance(said, str) else json.dumps(said, indent=2, ensure_ascii=False)
        yield f"<details open><summary>{_safe(event.kind)}</summary><pre>{_safe(text)}</pre></details>"


def _entry(entry: Mapping[str, object]) -> Iterator[str]:
    code = entry.get("exit_code")
    status = f", exit code {code}" if code is not None else ""
    yield f'<p class="role">{_safe(entry["role"])}{_safe(status)}</p><pre>{_safe(entry["text"])}</pre>'


def _safe(value: object) -> str:
    """Return text that can be nothing but text."""
    return html.escape(plain(str(value)), quote=True)
