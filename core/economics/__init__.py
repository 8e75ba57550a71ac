"""The papers' formulas as plain array functions: NumPy in, NumPy out. Imports NumPy alone.

A formula's docstring has the equation with its number, shapes, units, errors, and an example that is executed. A new formula is a
function in the file of its subject, or a new file.
"""
