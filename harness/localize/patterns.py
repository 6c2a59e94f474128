"""What is read from any language by pattern: calls, imports, and the beginnings of definitions."""

from __future__ import annotations

import re

CALL = re.compile(r"\b([A-Za-z_]\w{2,})[ \t]*\(")
NO_CALLS = frozenset(
    {
        *("if", "for", "while", "return", "def", "class", "and", "not", "with", "assert", "elif", "except"),
        *(
            "print",
            "lambda",
            "yield",
            "raise",
            "await",
            "import",
            "from",
            "del",
            "switch",
            "catch",
            "function",
        ),
        *("func", "sizeof", "typeof", "super", "isinstance", "len", "str", "int", "new", "match", "super"),
    }
)
"""Words before a parenthesis that say nothing of what is called."""

PYTHON_IMPORT = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\(?([\w, \t]*)", re.MULTILINE)
PYTHON_MODULE = re.compile(r"^[ \t]*import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
OTHER_IMPORTS = re.compile(
    r"(?:\bfrom|\brequire\(|\bimport\(|\brequire|\brequire_relative|^[ \t]*import)"
    r"[ \t]*['\"]([^'\"\n]{1,200})['\"]"
    r"|^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]{1,200})[>\"]"
    r"|^[ \t]*(?:pub[ \t]+)?(?:import|use|using|mod)[ \t]+(?:static[ \t]+|type[ \t]+)?([\w.:\\]{1,200})"
    r"|^[ \t]*(?:[\w.]+[ \t]+)?\"([\w./-]{1,200})\"[ \t]*$",
    re.MULTILINE,
)
"""JavaScript and Ruby; C and C++; Java, C#, Rust and PHP; a line of Go's import block."""
