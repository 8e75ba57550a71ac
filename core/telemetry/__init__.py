"""Telemetry: what Wayfare decides, calls and answers as OpenTelemetry spans and metrics, where OTEL_* variables ask for it.

`base.py` is what the services call and does nothing, `starting.py` reads the variables, `otel.py` alone imports the SDK, and
`leaving.py` says what may leave: names, numbers and kinds of errors, never a sub-task, an argument, a result, or a text of an error.
"""
