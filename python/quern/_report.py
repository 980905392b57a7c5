# SPDX-License-Identifier: MIT
"""Reports of the program as objects: rows with attributes, text, HTML for notebooks, pandas.

A report keeps the JSON of the program as it is (`to_dict()`); everything else is a view of it.
"""
from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Iterator, Mapping, overload

_SHOWN = 20  # rows of a table in text and HTML
_STYLE = "text-align:left;padding:2px 12px 2px 0;white-space:nowrap"


class Row(Mapping[str, Any]):
    """One row: `row.ms` and `row["ms"]` are the same."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]):
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self._values[key]
        except KeyError:
            raise AttributeError(f"no field {key!r}; there are {', '.join(self._values)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{key}={value!r}' for key, value in self._values.items())})"


def text_of(value: Any) -> str:
    """A cell of a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(text_of, value)) if isinstance(value, (list, tuple)) else str(value)


def flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A row whose nested fields have names such as `parts_ms.matrix`."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[prefix + key] = value
    return found


class Report(Sequence[Row]):
    """Rows and a summary. Fields of the program's JSON are attributes, too."""

    _columns: tuple[tuple[str, str], ...] = ()  # header and field of what is shown

    def __init__(self, data: Any):
        self._data = data
        self._rows = [Row(row) for row in self._select(data)]

    def _select(self, data: Any) -> list[dict[str, Any]]:
        """The rows of the JSON."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """The report in a line."""
        raise NotImplementedError

    @property
    def rows(self) -> list[Row]:
        return list(self._rows)

    def to_dict(self) -> Any:
        """The JSON of the program."""
        return self._data

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`; nested fields become columns such as `a.b`."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(f"to_pandas() needs pandas, which cannot be imported ({error}): "
                              "pip install pandas") from error
        return pandas.DataFrame([flat(row) for row in self._rows])

    def __getattr__(self, key: str) -> Any:
        data = self.__dict__.get("_data")
        if isinstance(data, dict) and key in data and not key.startswith("_"):
            return data[key]
        raise AttributeError(f"{type(self).__name__} has no field {key!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._data if isinstance(self._data, dict) else ())]

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def _table(self) -> tuple[list[str], list[list[str]], int]:
        """Headers, cells of the first rows, and how many rows are left out."""
        columns = [(head, key) for head, key in self._columns
                   if any(row.get(key) not in (None, "") for row in self._rows)]
        cells = [[text_of(row.get(key)) for _, key in columns] for row in self._rows[:_SHOWN]]
        return [head for head, _ in columns], cells, len(self._rows) - len(cells)

    def __repr__(self) -> str:
        heads, cells, more = self._table()
        lines = [self.summary]
        if cells:
            widths = [max(map(len, column)) for column in zip(heads, *cells)]
            lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                      for row in [heads, *cells]]
        return "\n".join(lines + [f"… and {more} more"] * (more > 0))

    def _repr_html_(self) -> str:
        heads, cells, more = self._table()

        def row(tag: str, values: list[str]) -> str:
            return "<tr>" + "".join(f'<{tag} style="{_STYLE}">{html.escape(value)}</{tag}>'
                                    for value in values) + "</tr>"

        body = "".join(row("td", values) for values in cells)
        table = f"<table><thead>{row('th', heads)}</thead><tbody>{body}</tbody></table>"
        return (f"<div><p>{html.escape(self.summary)}</p>" + (table if cells else "")
                + (f"<p>… and {more} more</p>" if more > 0 else "") + "</div>")


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"


class Check(Report):
    """Which nodes a backend supports: rows with name, op, state and reason.

    The state is "supported", "rejected" or, where a node depends on a rejected one,
    "not evaluated".
    """

    _columns = (("node", "name"), ("op", "op"), ("state", "state"), ("reason", "reason"))

    def _select(self, data: Any) -> list[dict[str, Any]]:
        return [{**node, "state": "supported" if node["accepted"] else
                 "rejected" if node.get("reason") else "not evaluated",
                 "reason": node.get("reason")} for node in data["nodes"]]

    @property
    def ok(self) -> bool:
        """Does the backend support every node?"""
        return self.rejected == 0 and self.not_evaluated == 0

    @property
    def rejected(self) -> int:
        return int(self._data["refused"])

    @property
    def not_evaluated(self) -> int:
        """Nodes that depend on a rejected one."""
        return int(self._data["not_tried"])

    @property
    def rejected_nodes(self) -> list[Row]:
        return [row for row in self._rows if row["state"] == "rejected"]

    @property
    def summary(self) -> str:
        text = (f"{self._data['model']} on {self._data['backend']}: {self._data['accepted']} of "
                f"{_count(len(self), 'node')} supported")
        if not self.ok:
            text += f", {self.rejected} rejected"
        if self.not_evaluated:
            text += f", {self.not_evaluated} not evaluated (they depend on a rejected node)"
        estimate = self._data.get("estimate")
        if estimate:
            text += (f"; about {estimate['ms']:.3g} ms on {estimate['chip']} in "
                     f"{estimate['precision']}")
        return text


class Estimate(Report):
    """Estimated latency: a row for each SoC and precision."""

    _columns = (("SoC", "chip"), ("precision", "precision"), ("ms", "ms"), ("from", "low_ms"),
                ("to", "high_ms"), ("bound by", "bound"), ("partitions", "partitions"),
                ("fitted", "fitted"))

    def _select(self, data: Any) -> list[dict[str, Any]]:
        return list(data["estimates"])

    @property
    def ms(self) -> float:
        """Of the first row."""
        return float(self._rows[0]["ms"])

    @property
    def summary(self) -> str:
        return f"{self._data['model']}: estimated latency (a model of the NPU, not a measurement)"


class Comparison(Report):
    """Two executions, layer by layer: SQNR, cosine, largest error; worst first."""

    _columns = (("layer", "name"), ("node", "node"), ("op", "op"), ("SQNR dB", "sqnr_db"),
                ("cosine", "cosine"), ("max error", "max_error"), ("in steps", "steps"))

    def _select(self, data: Any) -> list[dict[str, Any]]:
        return [{"graph": graph["graph"], **layer} for graph in data["graphs"]
                for layer in graph["layers"]]

    @property
    def worst(self) -> Row | None:
        """The layer with the least SQNR; None where all layers are equal."""
        rows = [row for row in self._rows if row["sqnr_db"] is not None]
        return min(rows, key=lambda row: float(row["sqnr_db"]), default=None)

    @property
    def summary(self) -> str:
        worst = self.worst
        text = _count(len(self), "layer") + " compared"
        if self._data.get("inputs") == "random":
            text += " on random inputs (pass inputs= for the accuracy on real ones)"
        return text + (f"; the worst is {worst['name']!r} with {worst['sqnr_db']:.1f} dB"
                       if worst else "; all are equal")


class Bench(Report):
    """Measured times; rows are ops, or nodes where `nodes` or `per_op` asks for them."""

    _columns = (("node", "name"), ("op", "type"), ("µs", "us"), ("share", "share"),
                ("count", "count"))

    def _select(self, data: Any) -> list[dict[str, Any]]:
        return list(data.get("nodes") or data.get("ops") or [])

    @property
    def summary(self) -> str:
        d = self._data
        if "median_ms" not in d:
            return f"{d['model']}: measured"
        return (f"{d['model']}: median {d['median_ms']:.3g} ms, minimum {d['min_ms']:.3g} ms, "
                f"{d['throughput']:.4g} runs/s ({_count(d['runs'], 'run')})")


class Info(Report):
    """What is installed: a row for each library."""

    _columns = (("backend", "backend"), ("found", "found"), ("provider", "provider"),
                ("API", "backend_api"), ("ops", "ops"), ("path", "path"), ("reason", "reason"))

    def _select(self, data: Any) -> list[dict[str, Any]]:
        return list(data["libraries"])

    @property
    def summary(self) -> str:
        found = sum(bool(row["found"]) for row in self._rows)
        return f"Quern {self._data['version']}: {found} of {len(self)} libraries found"


class Socs(Report):
    """SoCs that `soc` accepts: architecture, fast memory, units, cores."""

    _columns = (("id", "id"), ("name", "name"), ("names", "names"), ("arch", "arch"),
                ("VTCM MB", "vtcm_mb"), ("HVX", "hvx_units"), ("HMX", "hmx_units"),
                ("cores", "cores"), ("fp16", "fp16"), ("fitted", "fitted"))

    def _select(self, data: Any) -> list[dict[str, Any]]:
        return list(data)

    @property
    def summary(self) -> str:
        return _count(len(self), "SoC")
