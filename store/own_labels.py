"""What labels stand for by the files of their repositories, as last read."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from domain.events import CommandGiven, IssueLabelled, IssueUnlabelled
from domain.model import Category, IssueRef
from store.rows import storable

_OWN_LABEL = "SELECT category FROM repository_labels WHERE forge = ? AND repository_id = ? AND label = ?"


def own_category(connection: sqlite3.Connection, event: IssueLabelled | IssueUnlabelled) -> Category | None:
    """Return what a label stands for by its repository's own file, as last read, or None."""
    return category_by_file(connection, event.issue, event.label)


def category_by_file(connection: sqlite3.Connection, issue: IssueRef, label: str) -> Category | None:
    """Return what a label stands for by the file of an issue's repository, as last read, or None."""
    values = (issue.forge, issue.repository_id, storable(label.strip().lower()))
    row = connection.execute(_OWN_LABEL, values).fetchone()
    return Category(row[0]) if row else None


def kind_of_command(
    connection: sqlite3.Connection, event: CommandGiven, categories: Mapping[str, Category]
) -> tuple[Category, str]:
    """Return the kind of work that one of the issue's labels stands for, and that label; else a bug."""
    for label in event.labels:
        own = category_by_file(connection, event.issue, label)
        category = own or categories.get(label.strip().lower())
        if category is not None:
            return category, label
    return Category.BUG, ""
