"""Flower's configuration: how an attempt is shown. Read by Flower itself, as a plain file.

It may not import anything of infranoise, and every name here that is an option of Flower's is
taken for that option: `format_task` is.
"""

import ast
import os
from typing import Any


def format_task(task: Any) -> Any:
    """An attempt in words: its cell and sample, what it left, and how to see all of its trial.

    Args:
        task: a copy of Flower's task; its uuid is the attempt's id, `<trial>.<number>`.
    """
    trial, _, number = str(task.uuid).partition(".")
    try:
        told = ast.literal_eval(task.kwargs or "")
        task.kwargs = f"{told['task']} by {told['entry']}"
        cell = f"band {told['band']}, sample {told['sample']}, attempt {number}"
    except (SyntaxError, ValueError, TypeError, KeyError):  # cut off, or none of ours
        return task
    page = os.environ.get("INFRANOISE_DASHBOARD_URL", "").rstrip("/")
    where = f"{page}/trials/{trial}" if page else f"infranoise trial show {trial}"
    task.args = f"{cell}: {where}"
    task.result = str(getattr(task, "result", None) or "").strip("'")
    return task
