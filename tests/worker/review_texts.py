"""What reviewers read of us, for the texts that are kept."""

from __future__ import annotations

from collections.abc import Callable

from domain.ports.reviewing import Touch
from worker import review_words

SHA = "abcdef0123" * 4

REVIEWS: dict[str, Callable[[], str]] = {
    "review-thread-place": lambda: review_words.on_thread(Touch.PLACE, SHA, "shop/price.py"),
    "review-thread-file": lambda: review_words.on_thread(Touch.FILE, SHA, "shop/price.py"),
    "review-thread-elsewhere": lambda: review_words.on_thread(Touch.ELSEWHERE, SHA, "shop/`price`.py"),
    "review-thread-no-commit": lambda: review_words.on_thread(Touch.NO_COMMIT, SHA, "shop/price.py"),
    "review-thread-unknown": lambda: review_words.on_thread(None, SHA, "shop/price.py"),
    "review-pull": lambda: review_words.on_pull(SHA, is_new=True, threads=2),
    "review-pull-nothing-new": lambda: review_words.on_pull(SHA, is_new=False, threads=0),
    "review-not-followed": lambda: review_words.not_followed(12, ""),
    "review-not-followed-unfinished": lambda: review_words.not_followed(12, SHA),
}
