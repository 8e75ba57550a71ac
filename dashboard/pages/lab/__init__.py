"""The Lab page: labelled tasks over routers, stored runs compared, task by task, sweeps, searches and judgments."""
