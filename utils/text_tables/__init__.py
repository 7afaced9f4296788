"""Text for a terminal: aligned tables, and numbers with what they count."""

from utils.text_tables.counted import counted
from utils.text_tables.plain import format_table

__all__ = ["counted", "format_table"]
