"""Amounts of money as whole cents."""


def parse_cents(text):
    """Read "12.34" (or "12") as 1234 cents."""
    whole, _, fraction = text.strip().partition(".")
    if len(fraction) > 2:
        raise ValueError(f"more than two decimals: {text!r}")
    sign = -1 if whole.startswith("-") else 1
    return int(whole or "0") * 100 + sign * int(fraction.ljust(2, "0") or "0")


def format_cents(cents):
    """Write 1234 cents as "12.34"."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
