"""A model of the time that executed machine code takes on one compute unit of an AMD GPU.

The emulator records what each wave of the resident workgroups executes; this package replays the records against the
units that the waves share. All times are from ckgen/hardware/timing.py. docs/simulator.md says what a result is worth.
"""

__all__ = ["operation", "result", "table", "timeline", "unit"]
