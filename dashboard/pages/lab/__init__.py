"""The Lab page: labelled tasks over routers, runs compared, task by task, sweeps."""
