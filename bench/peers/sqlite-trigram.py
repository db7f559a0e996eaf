"""Searches texts with the trigrams of SQLite's FTS5. bench/support/load-process.ts describes the lines of its input and output."""

import json
import os
import sqlite3
import sys

PAGE = 10

database = sqlite3.connect(":memory:")
tables = {}


def table_of(corpus):
    """The table of a corpus. It keeps only the index, because the caller knows the texts."""
    if corpus not in tables:
        tables[corpus] = f"corpus_{len(tables)}"
        database.execute(
            f"CREATE VIRTUAL TABLE {tables[corpus]} USING fts5(text, content='', tokenize='trigram')"
        )
    return tables[corpus]


def load(corpus, texts):
    table = table_of(corpus)
    with database:
        database.executemany(f"INSERT INTO {table}(text) VALUES (?)", ((text,) for text in texts))


def find(corpus, parts):
    """The first rows with one of these parts. Rows are read in the order of their insertion."""
    phrase = " OR ".join('"' + part.replace('"', '""') + '"' for part in parts)
    rows = database.execute(
        f"SELECT rowid FROM {table_of(corpus)} WHERE text MATCH ? ORDER BY rowid LIMIT {PAGE}", (phrase,)
    )
    return [row for (row,) in rows]


tasks = {"open": os.getpid, "load": load, "find": find, "empty": lambda: None}


def main():
    table_of("probe")
    if "--probe" in sys.argv:
        print(f"SQLite {sqlite3.sqlite_version}")
        return
    for line in sys.stdin:
        call = json.loads(line)
        output = tasks[call["task"]](**call["input"])
        print(json.dumps({"id": call["id"], "output": output}), flush=True)


main()
