"""Proof that instances are correct: float64 references, inputs and poisoned outputs, error allowances, plans of runs,
`smoke`.
"""

__all__ = ["checking", "emulated", "emulated_plan", "guarded", "plan", "reference", "run_tensors", "simulated", "smoke"]
