"""Aligned tables for a terminal."""

from utils.text_tables.plain import format_table

__all__ = ["format_table"]
