"""Names become addresses, once and within a time limit, and every one of them is judged."""

from __future__ import annotations

import queue
import socket
import threading
from ipaddress import ip_address

from app.domain import addresses
from app.domain.addresses import AddressRules, Range
from app.domain.hook_urls import HookUrl


class NotResolved(Exception):
    """The name has no address, or none was found in time (`is_late`)."""

    def __init__(self, *, is_late: bool = False) -> None:
        super().__init__("late" if is_late else "no address")
        self.is_late = is_late


class AddressRefused(Exception):
    """An address of the name may not be reached; `why` says which range it is in."""

    def __init__(self, why: Range) -> None:
        super().__init__(str(why))
        self.why = why


def judged(url: HookUrl, rules: AddressRules, *, seconds: float) -> tuple[str, ...]:
    """The addresses of a URL's host, in the order to try them, when all of them may be reached.

    Whoever dials must dial one of these: another resolution may answer otherwise (rebinding).
    Raises AddressRefused when any may not be reached, NotResolved.
    """
    found = _resolve(url.host, url.port, seconds)
    for address in found:
        why = addresses.refusal(address, url.port, rules, is_local=_is_local(address))
        if why is not None:
            raise AddressRefused(why)
    return found


def _resolve(host: str, port: int, seconds: float) -> tuple[str, ...]:
    """Ask in a thread of its own: the system's resolver knows no time limit of ours."""
    answer: queue.SimpleQueue[tuple[str, ...]] = queue.SimpleQueue()
    threading.Thread(
        target=lambda: answer.put(_ask(host, port)), name="resolve", daemon=True
    ).start()
    try:
        found = answer.get(timeout=max(seconds, 0.0))
    except queue.Empty:
        raise NotResolved(is_late=True) from None
    if not found:
        raise NotResolved
    return found


def _ask(host: str, port: int) -> tuple[str, ...]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


def _is_local(text: str) -> bool:
    """Whether an address is this machine's: the way to it then starts at it. Sends nothing."""
    try:
        address = ip_address(text)
        if address.is_loopback or address.is_unspecified:
            return True
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((text, 9))
            return str(probe.getsockname()[0]) == text
    except (OSError, ValueError):
        return False
