"""Where the files beside the code are: templates, static and sql, in a wheel or a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGED = Path(__file__).parent / "_data"
_CHECKOUT = Path(__file__).parent.parent


def data(name: str) -> Path:
    """Return the folder `name`: inside an installed wheel, else beside app/ in a checkout."""
    packaged = _PACKAGED / name
    return packaged if packaged.exists() else _CHECKOUT / name
