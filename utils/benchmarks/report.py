"""The result of a benchmark: printed as tables, kept as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from utils.benchmarks.contest import Score, median
from utils.benchmarks.machine import describe_machine, machine_line
from utils.storage import write_json
from utils.text_tables import format_table


class BenchmarkReport:
    """Prints as it grows, and is written once at the end."""

    def __init__(self, name: str, *, torch_threads: int, settings: dict[str, Any]) -> None:
        """Begin a report and print what it was measured on.

        Args:
            name: Of the benchmark; also of its file.
            torch_threads: Threads of torch.
            settings: JSON values that say what was measured.
        """
        self.name = name
        self.machine = describe_machine(torch_threads=torch_threads)
        self.settings = settings
        self.tables: list[dict[str, Any]] = []
        print(machine_line(self.machine), flush=True)

    def add_scores(self, title: str, scores: Sequence[Score], *, unit: str, peer: str) -> None:
        """Print rates as a table, each beside the peer's.

        Args:
            title: What was measured.
            scores: One for each contestant.
            unit: Of the rates, such as "steps/s".
            peer: Name of the contestant whose rate is 1.
        """
        base = next(score for score in scores if score.name == peer)
        rows = [
            (
                score.name,
                f"{score.median:,.0f}",
                f"{min(score.rates):,.0f}",
                f"{max(score.rates):,.0f}",
                f"{score.median / base.median:.2f}x",
                *_cpu_cells(score, base),
            )
            for score in scores
        ]
        header = ("", unit, "lowest", "highest", f"beside {peer}", "per CPU s", "beside")
        records = [dataclasses.asdict(score) | {"median": score.median} for score in scores]
        self.add_table(title, header, rows, records=records)

    def add_table(
        self,
        title: str,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        records: Sequence[dict[str, Any]],
    ) -> None:
        """Print a table and keep its numbers.

        Args:
            title: Stands above it.
            header: Names of the columns.
            rows: Cells as text.
            records: The same as JSON values.
        """
        print(f"\n{title}\n{format_table(header, rows)}", flush=True)
        self.tables.append({"title": title, "rows": list(records)})

    def add_fact(self, key: str, value: Any, text: str) -> None:
        """Print one finding under the last table and keep it with it."""
        print(text, flush=True)
        self.tables[-1][key] = value

    def write(self, path: Path | None) -> None:
        """Write the report as JSON; into a folder under the name of the benchmark.

        Raises:
            StorageError: It cannot be written.
        """
        if path is None:
            return
        target = path / f"{self.name}.json" if path.is_dir() else path
        record = {
            "benchmark": self.name,
            "machine": self.machine,
            "settings": self.settings,
            "tables": self.tables,
        }
        write_json(target, record)
        print(f"\nwritten to {target}")


def _cpu_cells(score: Score, base: Score) -> tuple[str, str]:
    if not score.cpu_rates:
        return "-", "-"
    rate = median(score.cpu_rates)
    return f"{rate:,.0f}", f"{rate / median(base.cpu_rates):.2f}x"
