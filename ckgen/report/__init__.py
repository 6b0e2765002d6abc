"""Measured rows to summaries, tables, plots, a page, CSV and JSON, and back."""

__all__ = ["digest", "export", "imports", "page", "summary"]
