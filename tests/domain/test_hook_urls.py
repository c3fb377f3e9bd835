"""The URL of a hook: what is taken, what is refused by the name of its field, what is shown."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidArgument
from app.domain.hook_urls import HookUrl, parse_hook_url, redacted


@pytest.mark.parametrize(("text", "host", "port", "target", "authority"), [
    ("https://hooks.example.org/wake?k=1&l=%20", "hooks.example.org", 443, "/wake?k=1&l=%20",
     "hooks.example.org"),
    ("HTTPS://Hooks.Example.ORG", "hooks.example.org", 443, "/", "hooks.example.org"),
    ("https://a.b:8443?x", "a.b", 8443, "/?x", "a.b:8443"),
    ("https://8.8.8.8:443/", "8.8.8.8", 443, "/", "8.8.8.8"),
    ("https://[2606:4700:0::1111]:99/a", "2606:4700::1111", 99, "/a", "[2606:4700::1111]:99"),
    ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
    ("https://my_host/", "my_host", 443, "/", "my_host"),
])  # fmt: skip
def test_a_url_in_its_parts(
    text: str, host: str, port: int, target: str, authority: str
) -> None:
    parsed = parse_hook_url(text, allows_http=False)

    assert parsed == HookUrl(scheme="https", host=host, port=port, target=target)
    assert parsed.authority == authority


@pytest.mark.parametrize("text", [
    "", "hooks.example.org", "http://a.b/", "ftp://a.b/", "//a.b/", "https:///x", "https://",
    "javascript:alert(1)", "file:///etc/passwd", "https:a.b",
    "https://ana@a.b/", "https://ana:word@a.b/", "https://@a.b/", "https://a.b@c.d/",
    "https://a.b/#x", "https://a.b/#", "https://a.b#", "https://a.b/?x#",
    "https://a.b:0/", "https://a.b:65536/", "https://a.b:/", "https://a.b:x/",
    "https://a.b:-1/", "https://a b/", "https://a.b/\n", "https://a.b\\@c.d/", "https://a.b/\x00",
    "https://b\u00fccher.example/", "https://\uff11\uff12\uff17.0.0.1/", "https://a..b/",
    "https://.a/", "https://a./", "https://-a.b/", "https://%6cocalhost/", "https://a,b/",
    # An IPv4 address in other clothes.
    "https://0177.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f000001/",
    "https://0x7f.0.0.1/", "https://127.0.0.1./", "https://127.0.0.01/", "https://256.1.1.1/",
    "https://1.2.3.4.5/", "https://a.0x7f/", "https://0/", "https://0x/",
    # IPv6.
    "https://[::1/", "https://[]/", "https://[::1]evil:443/", "https://evil[::1]/",
    "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://::1/", "https://[1.2.3.4]/",
    "https://[v1.x]/", f"https://a.b/{'x' * 2048}", f"https://{'a.' * 130}b/",
    f"https://{'a' * 64}.b/",
])  # fmt: skip
def test_a_url_that_cannot_be_used_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_hook_url(text, allows_http=False)

    assert refused.value.field == "url"
    assert refused.value.sentence.startswith("url: ")
    assert refused.value.sentence.endswith(".")


def test_http_is_taken_only_where_it_is_allowed() -> None:
    with pytest.raises(InvalidArgument, match="SWITCHBOARD_PUSH_ALLOW_HTTP=1"):
        parse_hook_url("http://a.b/", allows_http=False)
    assert parse_hook_url("http://a.b/", allows_http=True).port == 80
    assert parse_hook_url("http://a.b:443/", allows_http=True).authority == "a.b:443"


def test_the_longest_url_is_2048_bytes() -> None:
    longest = f"https://a.b/{'x' * (2048 - len('https://a.b/'))}"

    assert parse_hook_url(longest, allows_http=False).host == "a.b"
    with pytest.raises(InvalidArgument):
        parse_hook_url(f"{longest}x", allows_http=False)


def test_a_query_is_never_shown() -> None:
    assert redacted("https://a.b/c?token=hush&x=?y") == "https://a.b/c?«redacted»"
    assert redacted("https://a.b/c") == "https://a.b/c"
