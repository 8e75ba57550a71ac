"""The papers' formulas as plain array functions: NumPy in, NumPy out, nothing else."""
