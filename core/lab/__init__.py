"""Measures, benchmarks and curves: what a researcher asks of a router."""
