"""Explanations: the reasons for an instance's values, or for the absence of a combination from a spec."""

__all__ = ["explain"]
