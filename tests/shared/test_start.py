"""What a start loads: nothing that only a call, a chart or an export needs."""

import subprocess
import sys

HEAVY = ("mcp", "pandas", "torch", "transformers", "onnx", "plotly", "streamlit", "litellm", "confusable_homoglyphs")


def test_the_app_is_imported_without_what_it_may_never_need() -> None:
    code = f"import sys, core.app; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
