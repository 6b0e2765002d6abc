"""Convert measured rows to summaries, tables, plots, a page and CSV, and read exported rows back."""

__all__ = ["by_class", "compare", "digest", "export", "imports", "page", "summary"]
