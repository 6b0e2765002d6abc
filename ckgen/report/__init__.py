"""Convert measured rows to summaries, tables, plots, a page and CSV, and read exported rows back."""

__all__ = ["digest", "export", "imports", "page", "summary"]
