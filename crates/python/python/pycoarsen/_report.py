"""Reports of solves."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Any


class ConvergenceWarning(UserWarning):
    """A solve ended above its tolerance for another reason than the limit on iterations."""


@dataclass(frozen=True)
class Levels:
    """The levels of a hierarchy at its last build.

    Attributes
    ----------
    count : int
        The number of levels, the finest included.
    operator_complexity : float
        The entries of the matrices of all levels, divided by the entries of A.
    table : str
        One line for each level: unknowns, nonzeros, bytes; and the seconds of the setup.
    """

    count: int
    operator_complexity: float
    table: str = field(repr=False)

    def __str__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table)}</pre>"


def levels(told: tuple[int, float, str] | None) -> Levels | None:
    """Return the levels that Rust tells."""
    return None if told is None else Levels(*told)


@dataclass(frozen=True)
class Attempt:
    """One method that was tried.

    Attributes
    ----------
    method, preconditioner : str
        Names as in ``str(report)``: ``"cg"``, ``"sa"``.
    single : bool
        Whether the preconditioner was stored in float32.
    ending, advice : str
        How it ended, and the cause with a remedy; empty if it converged.
    note : str or None
        Why it was left, or why a factor was computed.
    iterations : int
    setup_seconds, solve_seconds : float
        In seconds; a setup of 0 s was kept from an earlier solve.
    condition : float or None
        An estimate of the condition number of the preconditioned matrix, from below.
    levels : Levels or None
        For a hierarchy.
    """

    method: str
    preconditioner: str
    single: bool
    ending: str
    advice: str
    note: str | None
    iterations: int
    setup_seconds: float
    solve_seconds: float
    condition: float | None
    levels: Levels | None


@dataclass(frozen=True)
class Report:
    """How a solve ended.

    Attributes
    ----------
    ending : str
        ``"converged"``, or what ended it: ``"iteration_limit"``, ``"stagnated"``, ``"indefinite_operator"``, ...
    advice : str
        The likely cause and a remedy; empty if it converged.
    message : str
        All of it in one line; also ``str(report)``.
    iterations : int
        Of all methods that were tried.
    residual : float
        ‖b − A x‖₂ / ‖b‖₂, recomputed from the returned x.
    tolerance : float
        What was asked for.
    notes : list of str
        Why methods were left.
    attempts : list of Attempt
        The methods that were tried, in order; empty if the guess was a solution.
    residuals : list of float
        The relative residual at each iteration, as the methods saw it.
    """

    ending: str
    advice: str
    message: str
    iterations: int
    residual: float
    tolerance: float
    notes: list[str] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list, repr=False)

    @property
    def converged(self) -> bool:
        """Whether the recomputed residual is within the tolerance."""
        return self.ending == "converged"

    @property
    def setup_seconds(self) -> float:
        """The seconds of all setups."""
        return sum(attempt.setup_seconds for attempt in self.attempts)

    @property
    def solve_seconds(self) -> float:
        """The seconds of all iterations."""
        return sum(attempt.solve_seconds for attempt in self.attempts)

    @property
    def levels(self) -> Levels | None:
        """The levels of the last preconditioner, if it is a hierarchy."""
        return self.attempts[-1].levels if self.attempts else None

    def __str__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        head = "<tr><th>method</th><th>preconditioner</th><th>ending</th><th>iterations</th><th>setup, s</th><th>solve, s</th></tr>"
        body = "".join(
            f"<tr><td>{html.escape(a.method)}</td><td>{html.escape(a.preconditioner)}</td><td>{html.escape(a.ending)}</td>"
            f"<td>{a.iterations}</td><td>{a.setup_seconds:.3g}</td><td>{a.solve_seconds:.3g}</td></tr>"
            for a in self.attempts
        )
        parts = [f"<p>{html.escape(self.message)}</p>", f"<table>{head}{body}</table>"]
        parts += [f"<p>{html.escape(note)}</p>" for note in self.notes]
        if self.levels is not None:
            parts.append(self.levels._repr_html_())
        parts.append(_chart(self.residuals, self.tolerance))
        return "".join(parts)


def report(told: dict[str, Any]) -> Report:
    """Return the report that Rust tells about a solver."""
    attempts = [Attempt(**{**a, "levels": levels(a["levels"])}) for a in told["attempts"]]
    names = ("ending", "advice", "message", "iterations", "residual", "tolerance", "notes")
    return Report(**{name: told[name] for name in names}, attempts=attempts, residuals=told["history"])


def _chart(residuals: list[float], tolerance: float) -> str:
    """Draw relative residuals by iteration, on a logarithmic scale, as SVG."""
    logs = [math.log10(r) for r in residuals if r > 0.0 and math.isfinite(r)]
    if len(logs) < 2:
        return ""
    asked = math.log10(tolerance) if tolerance > 0.0 else min(logs)
    low, high = math.floor(min(*logs, asked)), math.ceil(max(logs))
    width, height, left = 400.0, 160.0, 40.0
    x = [left + (width - left) * i / (len(logs) - 1) for i in range(len(logs))]
    y = [height * (high - v) / max(high - low, 1) for v in (*logs, asked)]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    return (
        f'<svg width="{width:.0f}" height="{height + 20:.0f}" viewBox="0 -8 {width:.0f} {height + 20:.0f}" role="img" '
        f'aria-label="relative residual by iteration">'
        f'<polyline points="{line}" fill="none" stroke="currentColor"/>'
        f'<line x1="{left}" x2="{width}" y1="{y[-1]:.1f}" y2="{y[-1]:.1f}" stroke="currentColor" stroke-dasharray="4"/>'
        f'<text x="0" y="6" font-size="11" fill="currentColor">1e{high}</text>'
        f'<text x="0" y="{height:.0f}" font-size="11" fill="currentColor">1e{low}</text></svg>'
    )
