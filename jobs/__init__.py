"""The background jobs: each file says how often, and does its work once."""

from __future__ import annotations
