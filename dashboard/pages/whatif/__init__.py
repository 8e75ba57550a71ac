"""The What if page: one sub-task under other values of the parameters.

It shows the winner at each value of each knob and over two knobs, the change that would make another tool win, the cost curves with
their equations, the auction, and the effect of each knob on a set of tasks.
"""
