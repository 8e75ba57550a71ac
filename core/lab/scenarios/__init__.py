"""NetMCP's experiment: routers over a simulated network, step by step.

`simulation.py` runs the steps, `live.py` makes real calls instead of simulated ones, `measures.py` computes the measures, rankings and
curves of a run.
"""
