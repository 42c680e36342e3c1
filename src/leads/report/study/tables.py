"""Tables as Markdown, LaTeX, CSV and HTML, and the text in their cells."""

import csv
import io
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from leads.report.study.statistics import welch
from leads.training.checkpoint import write_whole
from leads.training.metrics import Metric

MISSING = "missing"
BAR = "\\|"
"""A bar that does not end a cell of Markdown."""
MEAN = ("mean", "std", "n")


@dataclass(frozen=True)
class Cell:
    """What people read, and the numbers in it."""

    text: str
    values: tuple[float | str | None, ...] = ()
    """For programs; the first one is what a column is sorted by."""
    bold: bool = False


@dataclass(frozen=True)
class Column:
    title: str
    cell: Callable[..., Cell]
    """What it shows of a row of whatever is listed."""
    parts: tuple[str, ...] = ("",)
    """What the values of its cells are."""


@dataclass(frozen=True)
class Table:
    """A table and what has to be known to read it."""

    columns: Sequence[Column]
    rows: list[list[Cell]]
    name: str = ""
    """Of its files."""
    title: str = ""
    note: str = ""
    named_by: int = 0
    """The column that tells rows apart; it stays in sight when a narrow screen is scrolled."""

    def markdown(self) -> str:
        return f"**{self.title}.** {self.note}\n\n{self.grid()}\n"

    def grid(self) -> str:
        """In Markdown, without title and note."""
        bold = lambda cell: f"**{cell.text}**" if cell.bold else cell.text
        lines = [[column.title for column in self.columns], ["---"] * len(self.columns)]
        lines += [[bold(cell) for cell in row] for row in self.rows]
        return "\n".join(f"| {' | '.join(text.replace('|', BAR) for text in line)} |" for line in lines)

    def uncounted(self) -> "Table":
        """Without the numbers of runs in its cells, for a table that has a column of them."""
        plain = lambda cell: replace(cell, text=re.sub(r" \(n = [^)]*\)$", "", cell.text))
        return replace(self, rows=[list(map(plain, row)) for row in self.rows])

    def latex(self) -> str:
        """For the packages booktabs and graphicx."""
        bold = lambda cell: rf"\textbf{{{_tex(cell.text)}}}" if cell.bold else _tex(cell.text)
        head = " & ".join(_tex(column.title) for column in self.columns)
        body = "\n".join(" & ".join(map(bold, row)) + r" \\" for row in self.rows)
        return rf"""\begin{{table}}
\centering
\caption{{{_tex(self.title)}. {_tex(self.note)}}}
\resizebox{{\textwidth}}{{!}}{{%
\begin{{tabular}}{{{"l" * len(self.columns)}}} \toprule
{head} \\ \midrule
{body}
\bottomrule
\end{{tabular}}}}
\end{{table}}
"""

    def csv(self) -> str:
        """One column per number; what is missing is empty."""
        text = io.StringIO()
        head = [f"{column.title} {part}".strip() for column in self.columns for part in column.parts]
        values = lambda row: [value for pair in zip(self.columns, row, strict=True) for value in _values(*pair)]
        csv.writer(text, lineterminator="\n").writerows([head, *map(values, self.rows)])
        return text.getvalue()

    def html(self) -> str:
        """Its heads are buttons that the page's script sorts by."""
        button = lambda column: f'<button type="button">{escape(column.title)}</button>'
        names = lambda i: ' class="names"' if i == self.named_by else ""
        head = "".join(f'<th scope="col"{names(i)}>{button(column)}</th>' for i, column in enumerate(self.columns))
        rows = ("".join(_html(cell, i == self.named_by) for i, cell in enumerate(row)) for row in self.rows)
        body = "".join(f"<tr>{row}</tr>\n" for row in rows)
        caption = f"<caption><strong>{escape(self.title)}.</strong> {escape(self.note)}</caption>"
        table = f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
        label = f'role="region" aria-label="{escape(self.title)}" tabindex="0"'
        return f'<div class="scroll" id="table-{self.name}" {label}>{table}</div>'

    def write(self, directory: Path) -> Iterator[Path]:
        """One file of each kind."""
        for kind, text in {"md": self.markdown(), "tex": self.latex(), "csv": self.csv()}.items():
            write_whole(directory / f"{self.name}.{kind}", text.encode())
            yield directory / f"{self.name}.{kind}"


def listed(columns: Sequence[Column], rows: Iterable[Sequence[Any]], *about: Any) -> Table:
    """What columns show of every row; `about` is the table's name, title and note, and which column names its rows."""
    return Table(columns, [[column.cell(*row) for column in columns] for row in rows], *about)


def word(text: str) -> Cell:
    """A cell without a number."""
    return Cell(text, (text,))


def number(value: float | None, form: str = "{}") -> Cell:
    """A cell of one number."""
    return Cell(MISSING) if value is None else Cell(form.format(value), (value,))


def where_known(metric: Metric, cell: Callable[..., Cell]) -> Callable[..., Cell]:
    """A cell about a metric; a dash where the task has no such thing."""
    return lambda study, setting, *who: cell(study, setting, *who) if study.has(setting, metric) else Cell("-")


TASK = Column("task", lambda study, setting, *_: word(setting.title))
METHOD = Column("method", lambda study, setting, entry, *_: word(entry.title))
AGAINST = Column("against", lambda study, setting, entry, other: word(other.title))


def mean_cell(numbers: Sequence[float], digits: int, bold: bool = False, more: str = "") -> Cell:
    """Mean and standard deviation, and of how many runs; `more` stands behind their number."""
    if not numbers:
        return Cell(MISSING)
    spread = statistics.stdev(numbers) if len(numbers) > 1 else None
    text = f"{mean_std(numbers, digits)} (n = {len(numbers)}{more})"
    return Cell(text, (statistics.mean(numbers), spread, len(numbers)), bold)


def mean_std(numbers: Sequence[float], digits: int) -> str:
    """Mean and sample standard deviation as text."""
    if not numbers:
        return MISSING
    spread = f" ± {statistics.stdev(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{statistics.mean(numbers):.{digits}f}{spread}"


def compared(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Welch's test in words: whether ours is above or below, and how sure that is."""
    p = welch(ours, theirs)
    if p is None:
        return MISSING
    difference = statistics.mean(ours) - statistics.mean(theirs)
    if difference == 0:
        return "equal"
    where = "above" if difference > 0 else "below"
    return where if statistics.pstdev(ours) == statistics.pstdev(theirs) == 0 else f"{where}, p = {p:.2g}"


def _values(column: Column, cell: Cell) -> list[float | str | None]:
    values = [float(f"{value:.6g}") if isinstance(value, float) else value for value in cell.values]
    return (values + [None] * len(column.parts))[: len(column.parts)]


def _tex(text: str) -> str:
    plain = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {"±": r"$\pm$", "<": "$<$", ">": "$>$"}
    return "".join((plain | special).get(sign, sign) for sign in text)


def _html(cell: Cell, names: bool) -> str:
    """A cell; `names` if it names its row."""
    value = cell.values[0] if cell.values else None
    data = "" if value is None else f' data-value="{escape(str(value))}"'
    kind = ' class="missing"' if not cell.values else ""
    shown = f"<strong>{escape(cell.text)}</strong>" if cell.bold else escape(cell.text)
    return f'<th scope="row"{data}>{shown}</th>' if names else f"<td{data}{kind}>{shown}</td>"
