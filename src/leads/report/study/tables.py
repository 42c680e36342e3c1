"""Tables as Markdown, LaTeX, CSV and HTML, and the text in their cells."""

import csv
import io
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from leads.report.study.statistics import welch
from leads.training.checkpoint import write_whole

MISSING = "missing"
BAR = "\\|"
"""A bar that does not end a cell of Markdown."""
MEAN_PARTS = ("mean", "std", "n")


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
    parts: tuple[str, ...] = ()
    """What the values of its cells are, if there are several."""


@dataclass(frozen=True)
class Table:
    """A table and what has to be known to read it."""

    name: str
    """Of its files."""
    title: str
    note: str
    columns: list[Column]
    rows: list[list[Cell]]
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
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_tex(self.title)}. {_tex(self.note)}}}",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{{'l' * len(self.columns)}}} \toprule",
            " & ".join(_tex(column.title) for column in self.columns) + r" \\ \midrule",
            *(" & ".join(map(bold, row)) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """One column per number; what is missing is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([f"{column.title} {part}".strip() for column in self.columns for part in column.parts or ("",)])
        for row in self.rows:
            writer.writerow(
                [value for column, cell in zip(self.columns, row, strict=True) for value in _values(column, cell)]
            )
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

    def write(self, directory: Path) -> list[Path]:
        """One file of each kind."""
        texts = {"md": self.markdown(), "tex": self.latex(), "csv": self.csv()}
        paths = [directory / f"{self.name}.{kind}" for kind in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            write_whole(path, text.encode())
        return paths


def word(text: str) -> Cell:
    """A cell without a number."""
    return Cell(text, (text,))


def number(value: float | None, shown: str) -> Cell:
    """A cell of one number."""
    return Cell(MISSING) if value is None else Cell(shown, (value,))


def mean_cell(numbers: Sequence[float], digits: int, bold: bool = False, note: str = "(n = {n})") -> Cell:
    """Mean and standard deviation, and a note, by default of how many runs."""
    if not numbers:
        return Cell(MISSING)
    spread = statistics.stdev(numbers) if len(numbers) > 1 else None
    text = f"{mean_std(numbers, digits)} {note.format(n=len(numbers))}".strip()
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
    wanted = len(column.parts or ("",))
    values = [float(f"{value:.6g}") if isinstance(value, float) else value for value in cell.values[:wanted]]
    return values + [None] * (wanted - len(values))


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
