"""The rules of families: entries of the form that ckgen.families.rule explains."""

__all__: list[str] = []
