"""NetMCP's experiment: routers over a simulated network, step by step.

`simulation.py` runs the steps, `live.py` makes real calls instead of simulated ones, `measures.py` computes the measures of a run,
`rankings.py` and `timeline.py` prepare what the Network page draws, `records.py` what the store keeps.
"""
