"""Why an instance is as it is, or why a combination is absent from a spec."""

__all__ = ["explain"]
