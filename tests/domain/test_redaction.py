"""The redactor: a live secret in every spelling in which one has been seen to leak."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.redaction import MOST_LENT
from domain.text import Redactor, clip

TOKEN = "ghs_S3cr3t/Canary+With=Odd&Chars'\"$~"
PEM = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(
    base64.b64encode(bytes(range(start, start + 48))).decode() for start in (0, 60, 120)
)
PEM += "\n-----END PRIVATE KEY-----\n"


def backslashed(secret: str) -> str:
    return re.sub(r"([^A-Za-z0-9_])", r"\\\1", secret)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "url": lambda secret: urllib.parse.quote(secret, safe=""),
    "url path": urllib.parse.quote,
    "url lower": lambda secret: re.sub(r"%..", lambda m: m[0].lower(), urllib.parse.quote(secret, safe="")),
    "form": urllib.parse.quote_plus,
    "json": lambda secret: json.dumps({"token": secret}),
    "json unicode": lambda secret: json.dumps(secret, ensure_ascii=False),
    "python": repr,
    "bytes": lambda secret: repr(secret.encode()),
    "shell": shlex.quote,
    "backslashes": backslashed,
    "html": html.escape,
    "hex": lambda secret: secret.encode().hex(),
    "upper hex": lambda secret: secret.encode().hex().upper(),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64url": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
}


def leaks(secret: str, text: str) -> bool:
    """Tell whether eight characters of the secret in a row are anywhere in the text."""
    return any(secret[start : start + 8] in text for start in range(len(secret) - 7))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_token_is_taken_out_however_it_is_spelt(spelling: str) -> None:
    text = f"remote: denied for {SPELLINGS[spelling](TOKEN)} at host"
    result = Redactor([TOKEN])(text)
    assert "[redacted]" in result
    assert not leaks(SPELLINGS[spelling](TOKEN).strip("'\""), result.replace('{"token": "', ""))
    assert result.startswith("remote: denied for ")
    assert result.endswith(" at host")


@given(
    secret=st.text(
        st.characters(codec="utf-8", exclude_categories=["Zs", "Cc", "Zl", "Zp"]), min_size=12, max_size=40
    ),
    before=st.binary(max_size=9),
    after=st.binary(max_size=9),
    encode=st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
)
def test_base64_gives_a_secret_away_at_no_alignment(
    secret: str, before: bytes, after: bytes, encode: Callable[[bytes], bytes]
) -> None:
    encoded = encode(before + secret.encode() + after).decode()
    result = Redactor([secret])(encoded)
    assert "[redacted]" in result
    left = result.replace("[redacted]", "")
    assert len(left) <= len(encoded) - (len(secret.encode()) - 2) * 8 // 6 + 2


def test_a_basic_authorization_header_is_covered() -> None:
    header = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    result = Redactor([TOKEN])(f"http.extraheader=AUTHORIZATION: basic {header}")
    assert result.startswith("http.extraheader=AUTHORIZATION: basic ")
    assert not leaks(header[24:], result)


def test_a_url_with_the_token_keeps_its_host() -> None:
    text = (
        f"fatal: unable to access 'https://x-access-token:{urllib.parse.quote(TOKEN, safe='')}@host/o/r.git/'"
    )
    expected = "fatal: unable to access 'https://x-access-token:[redacted]@host/o/r.git/'"
    assert Redactor([TOKEN])(text) == expected


def test_the_shell_escaped_colon_of_a_netrc_line() -> None:
    secret = "user:pa55word:x"
    assert Redactor([secret])(r"curl -u user\:pa55word\:x") == "curl -u [redacted]"


@pytest.mark.parametrize(
    "spell",
    [
        str,
        lambda pem: pem.replace("\n", "\r\n"),
        lambda pem: json.dumps(pem),
        repr,
        lambda pem: "\n".join(f"  12 | {line}" for line in pem.splitlines()),
        lambda pem: pem.replace("\n", " "),
        lambda pem: pem.splitlines()[2],
        lambda pem: base64.b64encode(pem.strip().encode()).decode(),
    ],
)
def test_no_line_of_a_key_file_is_left(spell: Callable[[str], str]) -> None:
    result = Redactor([PEM])(spell(PEM))
    assert "[redacted]" in result
    for line in PEM.splitlines()[1:-1]:
        assert not leaks(line, result)


def test_the_frame_of_a_key_file_is_no_secret() -> None:
    assert Redactor([PEM])("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


def test_white_space_around_a_setting_is_not_part_of_it() -> None:
    assert Redactor([" secret-value\n"])("key=secret-value;") == "key=[redacted];"


@pytest.mark.parametrize("secret", ["", "a", "short", "     ", " tiny \n"])
def test_what_is_too_short_redacts_nothing(secret: str) -> None:
    text = "a short text with    spaces and tiny words"
    assert Redactor([secret])(text) == text


def test_no_secret_changes_nothing() -> None:
    assert Redactor()("text") == "text"


def test_one_secret_inside_another() -> None:
    redact = Redactor(["secret-part"])
    redact.add("long-secret-part-of-it")
    assert redact("long-secret-part-of-it and secret-part") == "[redacted] and [redacted]"
    assert "of-it" not in Redactor(["long-secret-part-of-it", "secret-part"])("long-secret-part-of-it")


def test_a_secret_added_later_counts_from_then_on() -> None:
    redact = Redactor()
    assert redact("token-value") == "token-value"
    redact.add("token-value")
    assert redact("token-value") == "[redacted]"


def test_a_secret_that_is_not_unicode_is_no_crash() -> None:
    secret = b"caf\xe9-secret".decode("utf-8", "surrogateescape")
    assert Redactor([secret])(f"x {secret} y") == "x [redacted] y"


def test_redact_first_then_clip() -> None:
    """The other way round half a secret survives at the cut; this is why the order is fixed."""
    text = "x" * 30 + TOKEN + "y" * 500
    redact = Redactor([TOKEN])
    assert not leaks(TOKEN, clip(redact(text), 130))
    assert leaks(TOKEN, redact(clip(text, 130)))


@given(
    st.text(min_size=6, max_size=40).map(str.strip).filter(lambda secret: len(secret) >= 6),
    st.text(max_size=50),
)
def test_any_secret_is_gone(secret: str, around: str) -> None:
    assert secret not in Redactor([secret])(around + secret + around) or secret in "[redacted]"


def test_megabytes_are_no_trouble() -> None:
    text = (TOKEN + "\n") * 30_000
    assert Redactor([TOKEN, PEM, "another-secret"])(text) == "[redacted]\n" * 30_000


def test_lent_secrets_are_known_for_a_while_and_kept_ones_for_good() -> None:
    redact = Redactor(["kept-for-good"])
    redact.lend("")
    redact.lend("lent-first")
    assert redact("lent-first kept-for-good") == "[redacted] [redacted]"
    for number in range(MOST_LENT):
        redact.lend(f"lent-number-{number}")
    assert redact("lent-first kept-for-good lent-number-0") == "lent-first [redacted] [redacted]"
