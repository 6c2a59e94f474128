"""Splits a bill between friends, in whole cents."""

from fairshare.money import format_cents, parse_cents
from fairshare.split import split_by_weight, split_evenly

__all__ = ["format_cents", "parse_cents", "split_by_weight", "split_evenly"]
