"""What a result was computed with, so that it can be judged and repeated."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from paretofoil.core.version import __version__

PACKAGES = ("numpy", "scipy", "torch", "gymnasium", "mo-gymnasium", "joblib", "adversarial-robustness-toolbox")


def describe_machine() -> dict[str, Any]:
    """Versions and hardware, without names of people or hosts."""
    versions = {"paretofoil": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "versions": versions,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unknown"
