"""The What if page: one sub-task under other values. Who wins at which value of each knob, what would make another tool win, who wins
over two parameters, the cost curves with their equations, the auction, and how much of a task set hangs on each knob.
"""
