"""What is read from an issue: regions, names, phrases, and the frames of every language's tracebacks."""

from __future__ import annotations

import pytest

from harness.localize.query import read_query
from harness.localize.regions import Region, regions
from harness.localize.traces import Frame, frames_of

ISSUE = """Crash in `Parser.read`
### Describe the bug
The reader gives up, see https://example.org/acme/mail/blob/1.0/mail/reader.py#L12
```python
from mail.parser import Parser
import mail.writer as mw
Parser(strict=True).read("x")
mw.Writer.flush()
```
It says "no header was found here" with --strict-mode.
<!-- hidden_thing is not part of it -->
Traceback (most recent call last):
  File "/x/site-packages/mail/parser.py", line 40, in read
ValueError: no header was found here
### Your environment
numpy 1.2 pandas_version
"""


def test_regions_tell_prose_from_code_and_leave_the_machine_out() -> None:
    kinds = {line.strip(): region for region, line in regions(ISSUE)}

    assert kinds["Crash in `Parser.read`"] is Region.TITLE
    assert kinds["from mail.parser import Parser"] is Region.CODE
    assert kinds["numpy 1.2 pandas_version"] is Region.MACHINE
    assert kinds["ValueError: no header was found here"] is Region.OUTPUT
    assert "### Describe the bug" not in kinds


def test_names_phrases_imports_and_paths_are_found() -> None:
    query = read_query(ISSUE)

    assert {"Parser", "read"} <= query.identifiers.keys()
    assert not {"hidden_thing", "pandas_version"} & query.identifiers.keys()
    assert ("mail.parser", "Parser") in query.imports
    assert query.aliases == {"mw": "mail.writer"}
    assert {"mail/reader.py"} == set(query.paths)
    assert {"--strict-mode", "strict_mode", "no header was found here"} <= query.literals.keys()
    assert set(query.flags) == {"--strict-mode"}
    assert "no header was" in query.runs
    assert "strict" in query.keywords
    assert query.frames == (Frame("/x/site-packages/mail/parser.py", 40, "read"),)


@pytest.mark.parametrize(
    ("text", "path", "line", "function"),
    [
        ('  File "/a/b.py", line 7, in run', "/a/b.py", 7, "run"),
        ("pkg/mod.py:31: in check", "pkg/mod.py", 31, "check"),
        ("    at Cart.total (/app/src/cart.js:7:12)", "/app/src/cart.js", 7, "total"),
        ("    at file:///app/src/index.mjs:3:1", "/app/src/index.mjs", 3, ""),
        ("\tat com.acme.Mailer.send(Mailer.java:88)", "Mailer.java", 88, "send"),
        ("\t/go/src/acme/store.go:55 +0x1d", "/go/src/acme/store.go", 55, ""),
        ("thread 'main' panicked at src/lexer.rs:12:5:", "src/lexer.rs", 12, ""),
        ("lib/mailer.rb:9:in `deliver'", "lib/mailer.rb", 9, "deliver"),
        ("#1 0x55 in parse_line /src/io/parse.c:120:3", "/src/io/parse.c", 120, "parse_line"),
        ("#2  0x000 in util::trim (s=...) at src/trim.cpp:44", "src/trim.cpp", 44, "trim"),
        ("#0 /app/src/Cart.php(21): Acme\\Cart->add()", "/app/src/Cart.php", 21, "add"),
    ],
)
def test_frames_of_every_language(text: str, path: str, line: int, function: str) -> None:
    assert frames_of(text) == (Frame(path, line, function),)


def test_the_deepest_frame_comes_first_whichever_way_a_language_prints() -> None:
    python = 'File "a.py", line 1, in outer\nFile "b.py", line 2, in inner'
    script = "    at inner (b.js:2:1)\n    at outer (a.js:1:1)"

    assert [frame.function for frame in frames_of(python)] == ["inner", "outer"]
    assert [frame.function for frame in frames_of(script)] == ["inner", "outer"]


def test_a_traceback_of_a_notebook_is_output_without_a_fence() -> None:
    lines = [
        "C:\\envs\\shop\\lib\\prices.py in total(self, items)",
        "---> 86             return self.sum(items)",
        "\t 85\t\t\telse:",
        "/usr/lib/shop/orders.py in cancel(order)",
    ]
    kinds = [region for region, _ in regions("A price is wrong\n" + "\n".join(lines))]

    assert kinds[1:] == [Region.OUTPUT] * 4
    assert not read_query("A price is wrong\n" + "\n".join(lines)).paths


def test_dotted_names_are_spoken_of_in_prose_alone() -> None:
    query = read_query("shop.total is wrong\n```python\nshop.cancel(order)\n```")

    assert set(query.spoken) == {"shop.total"}
    assert set(query.dotted) == {"shop.total", "shop.cancel"}
