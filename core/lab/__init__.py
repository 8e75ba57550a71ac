"""Labelled tasks, measures, benchmarks, sweeps, scenarios, replay and judgments.

A new measure is a line in `benchmark.py`, a new experiment a file of its own.
"""
