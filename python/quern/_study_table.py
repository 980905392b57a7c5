# SPDX-License-Identifier: MIT
"""The results of a study: CSV, Parquet where pyarrow is there, and a page."""
from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, Sequence

from quern._study_files import write_whole

COLUMNS = ("model", "scheme", "chip", "status", "samples", "sqnr_db", "agreement", "accuracy",
           "float_accuracy", "ms", "low_ms", "high_ms", "fitted", "constant_bytes", "error")
_TEXT = ("model", "scheme", "chip", "status", "error")
_WHOLE = ("samples", "constant_bytes")


def csv_bytes(rows: Sequence[dict[str, Any]]) -> bytes:
    """Numbers with all their digits: equal tables have equal bytes."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(["" if row[c] is None else repr(row[c]) if isinstance(row[c], float) else
                         row[c] for c in COLUMNS])
    return out.getvalue().encode()


def parquet_bytes(rows: Sequence[dict[str, Any]]) -> bytes | None:
    """None without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return None
    kinds = {**{c: pa.float64() for c in COLUMNS}, **{c: pa.string() for c in _TEXT},
             **{c: pa.int64() for c in _WHOLE}, "fitted": pa.bool_()}
    table = pa.table({c: pa.array([row[c] for row in rows], kinds[c]) for c in COLUMNS})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _finite(value: Any) -> Any:
    return None if value in (float("inf"), float("-inf")) else value


def page_bytes(rows: Sequence[dict[str, Any]], title: str) -> bytes:
    data = {"title": title, "columns": COLUMNS, "rows": [
        {**{c: _finite(row[c]) for c in COLUMNS}, "equal": row["sqnr_db"] == float("inf"),
         "broken": row["sqnr_db"] == float("-inf")} for row in rows]}
    text = json.dumps(data, ensure_ascii=True)
    for mark in "<>&":  # nothing in it can end the script element
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    page = Path(__file__).with_name("_study_page.html").read_text(encoding="utf-8")
    return page.replace("@DATA@", text).encode()


def write(folder: Path, rows: Sequence[dict[str, Any]], title: str) -> list[Path]:
    files = {"results.csv": csv_bytes(rows), "results.parquet": parquet_bytes(rows),
             "report.html": page_bytes(rows, title)}
    for name, data in files.items():
        if data is not None:
            write_whole(folder / name, data)
    return [folder / name for name, data in files.items() if data is not None]
