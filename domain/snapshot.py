"""The text of an issue as it stood when work on it was asked for, by a name that tells it from any other."""

from __future__ import annotations

import hashlib


def snapshot_hash(title: str, body: str) -> str:
    """Return 64 hexadecimal digits for a title and a body; line ends and outer blanks make no difference."""
    texts = (text.replace("\r\n", "\n").replace("\r", "\n").strip() for text in (title, body))
    named = "\0".join(text.replace("\0", "") for text in texts)
    return hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()
