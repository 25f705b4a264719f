"""The published SARIF 2.1.0 schema, out of the package `schemastore`, which carries the JSON Schema Store."""

from __future__ import annotations

import json
import sqlite3
from importlib.metadata import distribution
from typing import Any

_TITLE = b"Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"


def sarif_schema() -> dict[str, Any]:
    """The schema as it is published.

    The package keeps responses of the store in a database, each with its body as plain bytes among
    others; only that text is read.
    """
    path = distribution("schemastore").locate_file("schemastore/cache.sqlite")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        for (blob,) in database.execute("SELECT value FROM responses"):
            if _TITLE in blob:
                text = blob[blob.index(b'{\r\n  "$schema"') :].decode("utf-8", "replace")
                schema: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]
                return schema
    raise LookupError("the package `schemastore` has no SARIF 2.1.0 schema")
