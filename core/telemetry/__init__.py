"""Telemetry: Wayfare's decisions, calls and answers as OpenTelemetry spans and metrics, switched on by OTEL_*
variables.

`base.py` has the interface that services call, which does nothing by default, and reads the variables. Only `otel.py`
imports the SDK. Names, numbers and kinds of errors leave the machine; sub-tasks, arguments, results and texts of errors
do not.
"""
