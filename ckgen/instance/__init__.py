"""One kernel instance: its fields and its name, derived values, the rules that it must keep (checked here and rendered
to C++), filters over instances.
"""

__all__ = ["checker", "derived_cpp", "filters", "instance", "rules_cpp", "work"]
