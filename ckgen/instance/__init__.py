"""One kernel instance: its fields and name, its derived values, the rules that it must satisfy (checked here and
rendered to C++), and filters over instances.
"""

__all__ = ["checker", "derived_cpp", "filters", "instance", "keys", "rules_cpp", "work"]
