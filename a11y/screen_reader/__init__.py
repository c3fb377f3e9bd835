"""The pages as a real screen reader says them; apart, `python3 tests a11y --screen-reader`."""

from __future__ import annotations
