"""The release we are; pyproject.toml says the same, and a test compares them."""

from __future__ import annotations

VERSION = "0.1.0"
