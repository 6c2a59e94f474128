import pytest

from fairshare import format_cents, parse_cents


@pytest.mark.parametrize(("text", "cents"), [("12.34", 1234), ("12", 1200), ("0.5", 50), ("-3.10", -310)])
def test_parse(text, cents):
    assert parse_cents(text) == cents


def test_parse_refuses_a_tenth_of_a_cent():
    with pytest.raises(ValueError):
        parse_cents("1.234")


@pytest.mark.parametrize("cents", [0, 5, 1234, -310])
def test_format_is_the_reverse_of_parse(cents):
    assert parse_cents(format_cents(cents)) == cents
