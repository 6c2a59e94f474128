"""Code blocks in documents: which are found, and which are what they say that they are."""

from __future__ import annotations

import pytest

from harness.document_code import Block, code_blocks, is_checkable, shell_text, syntax_problem


def blocks(text: str, *, is_markdown: bool = True) -> list[tuple[str, str, int]]:
    return [(block.named, block.text, block.line) for block in code_blocks(text, is_markdown=is_markdown)]


def test_fences_are_found_with_their_language_and_line() -> None:
    text = (
        "# A\n\n```python\nx = 1\n```\n\n"
        + "~~~ {.json}\n{}\n```\n~~~\n> ``` yaml\n> a: 1\n> ```\n- b\n  ````sh\n  ```\n  ````\n"
    )

    assert blocks(text) == [
        ("python", "x = 1", 4),
        ("json", "{}\n```", 8),
        ("yaml", "a: 1", 12),
        ("sh", "  ```", 16),
    ]


def test_a_fence_that_is_never_closed_is_no_block() -> None:
    assert blocks("```python\nx = (\n") == []


def test_directives_and_sessions_of_restructured_text_are_found() -> None:
    text = (
        "A\n=\n\n.. code-block:: python\n   :linenos:\n   :caption: x\n\n"
        + "   x = 1\n\n   y = 2\n\nText::\n\n  no {\n\n"
        ".. code:: JSON\n\n   {}\n\n>>> f(1)\n2\n"
    )

    assert blocks(text, is_markdown=False) == [
        ("python", "   x = 1\n\n   y = 2\n", 8),
        ("json", "   {}\n", 18),
        ("pycon", ">>> f(1)\n2", 20),
    ]


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("python", "x = 1\nawait f(...)\nreturn x"),
        ("python", "    indented = True"),
        ("python", ">>> for x in y:\n...     f(x)\n1\n>>> g()\nTraceback (most recent call last):\n  E"),
        ("pycon", ">>> x = {'a': 1}\n>>> x\n{'a': 1}"),
        ("python", "def add(a, b=1) -> int:"),
        ("python", "@decorated\ndef add(a, b)"),
        ("python", "class Lamp(Base):"),
        ("json", '{"a": [1, 2]}'),
        ("yaml", "a: !custom\n  - &b 1\n  - *b\n---\nc: 1"),
        ("toml", "[a]\nb = 1"),
        ("python", ""),
        ("json", ""),
    ],
)
def test_what_is_written_in_its_language_passes(named: str, text: str) -> None:
    block = Block(named, text, 10)

    assert is_checkable(block) and syntax_problem(block) == ""


@pytest.mark.parametrize(
    ("named", "text", "line"),
    [
        ("python", "x = 1\ny = (", 11),
        ("py", "def f(:\n    pass", 10),
        ("python", "text\n>>> x = 1\n>>> y = = 2\n", 12),
        ("json", '{\n "a": 1,\n}', 12),
        ("yaml", "a: 1\nb: [", 11),
        ("toml", "a = \n", 10),
    ],
)
def test_what_is_not_is_named_by_its_line(named: str, text: str, line: int) -> None:
    assert syntax_problem(Block(named, text, 10)).startswith(f"line {line}: ")


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("", "x = ("),
        ("rust", "fn ("),
        ("python", "{% if x %}\nx = (\n{% endif %}"),
        ("json", '{"a": 1, ...}'),
        ("yaml", "name: <your-name>: {"),
        ("json", "[" * 21_000),
    ],
)
def test_what_cannot_be_told_is_not_checked(named: str, text: str) -> None:
    assert not is_checkable(Block(named, text, 1))


def test_of_a_shell_session_only_what_was_typed_counts() -> None:
    session = Block("console", "$ make test \\\n> all\nok (1)\nuser@host:~$ ls\n", 1)

    assert shell_text(session) == "make test \\\nall\nls"
    assert shell_text(Block("console", "some (output", 1)) == ""
    assert shell_text(Block("bash", "ls (", 1)) == "ls ("


@pytest.mark.long
@pytest.mark.parametrize(
    "piece", ["```python\n", "~~~", ">" * 50 + "```\n", ".. code::\n", ">>> x\n", "(", "[", "a: &b\n", "- "]
)
@pytest.mark.parametrize("is_markdown", [True, False])
def test_hostile_documents_are_read_at_once(piece: str, is_markdown: bool) -> None:
    code_blocks(piece * (100_000 // len(piece)), is_markdown=is_markdown)
    for named in ("python", "json", "yaml", "toml"):
        syntax_problem(Block(named, piece * (15_000 // len(piece)), 1))
