"""What an app may ask for, and where its answers may go."""

from __future__ import annotations

import pytest

from app.domain import oauth, oauth_clients
from app.domain.errors import InvalidArgument
from app.domain.oauth import AuthorizeRequest, Fault, Wanted, read_request
from app.domain.verbs import ADMISSION, BASICS, GRANTABLE

BASE = "https://board.example.org"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"  # RFC 7636, appendix B
RIGHT = {
    "response_type": "code", "client_id": "c", "redirect_uri": "https://app.example.org/back",
    "state": "s", "code_challenge": CHALLENGE, "code_challenge_method": "S256",
    "resource": f"{BASE}/agent/v1", "scope": "claim heartbeat",
}  # fmt: skip


def asked(**changed: str | None) -> AuthorizeRequest:
    pairs = {name: text for name, text in {**RIGHT, **changed}.items() if text is not None}
    return read_request(pairs.items(), BASE)


def error_of(**changed: str | None) -> str:
    judged = oauth.judge(asked(**changed))
    assert isinstance(judged, Fault), judged
    return judged.error


def test_a_right_request_says_what_is_wanted() -> None:
    wanted = oauth.judge(asked())

    assert isinstance(wanted, Wanted)
    assert (wanted.resource.kind, wanted.resource.slug) == ("agent", None)
    assert wanted.verbs == ("claim", "heartbeat")
    assert wanted.code_challenge == CHALLENGE


def test_the_pairs_of_a_request_read_back_as_the_same_request() -> None:
    assert read_request(asked().pairs, BASE) == asked()


def test_a_parameter_that_comes_twice_is_a_fault_and_the_first_is_kept() -> None:
    twice = read_request([*RIGHT.items(), ("state", "other"), ("color", "a"), ("color", "b")], BASE)
    judged = oauth.judge(twice)

    assert (twice.repeated, twice.state) == (("state",), "s")
    assert isinstance(judged, Fault)
    assert judged.error == "invalid_request"


@pytest.mark.parametrize(("changed", "error"), [
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"response_type": None}, "unsupported_response_type"),
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge": CHALLENGE[:-1]}, "invalid_request"),
    ({"code_challenge": CHALLENGE + "A"}, "invalid_request"),
    ({"code_challenge": CHALLENGE[:-1] + "~"}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"),
    ({"code_challenge_method": "s256"}, "invalid_request"),
    ({"state": "s" * 2049}, "invalid_request"),
    ({"resource": None}, "invalid_target"),
    ({"resource": "https://elsewhere.example.org/agent/v1"}, "invalid_target"),
    ({"scope": "operator"}, "invalid_scope"),
    ({"scope": "offline_access"}, "invalid_scope"),
])
def test_a_request_that_cannot_be_shown_to_a_human_is_refused(
    changed: dict[str, str | None], error: str
) -> None:
    assert error_of(**changed) == error


@pytest.mark.parametrize(("text", "kind", "slug"), [
    (f"{BASE}/api", "operator", None),
    (f"{BASE}/agent/v1", "agent", None),
    (f"{BASE}/mcp/lane-m-k3x9", "agent", "lane-m-k3x9"),
    ("HTTPS://Board.Example.ORG/api", "operator", None),
    (f"{BASE}:443/api", "operator", None),
])
def test_a_resource_is_named_by_its_address(text: str, kind: str, slug: str | None) -> None:
    found = oauth.parse_resource(text, BASE)

    assert found is not None
    assert (found.kind, found.slug) == (kind, slug)
    assert found.url.startswith(BASE)


@pytest.mark.parametrize("text", [
    "", BASE, f"{BASE}/", f"{BASE}/api/", f"{BASE}/API", f"{BASE}/api/v1", f"{BASE}/agent",
    f"{BASE}/agent/v1/", f"{BASE}/agent/v1/claim", f"{BASE}/mcp/", f"{BASE}/mcp", f"{BASE}/mcp/A",
    f"{BASE}/mcp/a/b", f"{BASE}/mcp/a--b", f"{BASE}/mcp/-a", f"{BASE}/mcp/{'a' * 65}",
    f"{BASE}/api?x=1", f"{BASE}/api#", f"{BASE}/%61pi", f"{BASE}//api", f"{BASE}/./api",
    f"{BASE}.evil.example/api", "https://u@board.example.org/api", "http://board.example.org/api",
    "https://board.example.org:8443/api", "/api", "https://[board/api", f"{BASE}/api\n",
    f"{BASE}/mcp/{'é'}", "x" * 5000,
])
def test_what_is_no_resource_of_ours_is_none(text: str) -> None:
    assert oauth.parse_resource(text, BASE) is None


def test_no_scope_is_not_an_empty_scope() -> None:
    assert oauth.parse_scope(None, "agent") is None
    assert oauth.parse_scope("  ", "agent") is None
    assert oauth.parse_scope("nothing of ours", "agent") == ()


def test_scopes_come_once_in_the_order_of_the_registry_and_unknown_ones_are_ignored() -> None:
    assert oauth.parse_scope("release claim openid claim", "agent") == ("claim", "release")
    assert oauth.parse_scope("operator claim", "operator") == ("operator",)
    assert oauth.parse_scope(" ".join(oauth.SCOPES), "agent") == GRANTABLE


def test_a_screen_lists_what_was_asked_within_the_endpoints_scope() -> None:
    assert oauth.offered(("claim", "heartbeat"), None) == ("claim", "heartbeat")
    assert oauth.offered(("claim", "heartbeat"), ("heartbeat", "fail")) == ("heartbeat",)
    assert set(oauth.offered(GRANTABLE, ("claim",))) == {"claim", *ADMISSION}


def test_the_admission_verbs_are_listed_and_never_ticked() -> None:
    listed = oauth.offered(GRANTABLE, GRANTABLE)

    assert set(ADMISSION) <= set(listed)
    assert not set(ADMISSION) & set(oauth.ticked(listed))
    assert set(BASICS) <= set(oauth.ticked(listed))


@pytest.mark.parametrize("uri", [
    "https://app.example.org/back", "https://app.example.org", "https://app.example.org:8443/b?x=1",
    "http://127.0.0.1:43117/callback", "http://[::1]:43117/callback", "http://localhost/callback",
    "https://[2001:db8::1]/back",
])
def test_https_and_this_machine_may_be_redirected_to(uri: str) -> None:
    assert oauth_clients.check_redirect_uris([uri]) == (uri,)


@pytest.mark.parametrize("uri", [
    "", "app.example.org/back", "http://app.example.org/back", "http://127.0.0.2/back",
    "http://10.0.0.1/back", "http://localhost.evil.example/back", "http://127.1/back",
    "http://[::2]/back", "http://[::ffff:127.0.0.1]/back", "HTTPS://app.example.org/back",
    "https://app.example.org/back#", "https://app.example.org/back#part",
    "https://u:p@app.example.org/back", "https://app.example.org\\@evil.example/back",
    "https://app.example.org/back\n", "https://app.example.org/a b", "https://app.example.org:0/b",
    "https://app.example.org:99999/back", "https:///back", "myapp://callback",
    "javascript:alert(1)", "data:text/html,x", "https://app.exämple.org/back", "https://a;b.example/back",
    "https://app.example.org/" + "x" * 2048,
])
def test_anything_else_may_not(uri: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        oauth_clients.check_redirect_uris([uri])
    assert refused.value.field == "redirect_uris"


@pytest.mark.parametrize("uris", [
    [], ["https://a.example/"] * 2, [f"https://a.example/{n}" for n in range(11)],
])
def test_an_app_has_one_to_ten_redirect_uris(uris: list[str]) -> None:
    with pytest.raises(InvalidArgument):
        oauth_clients.check_redirect_uris(uris)


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a\x00b", "a\nb", "\u200b", "\u202e\u2066"])
def test_a_name_that_nobody_could_read_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument):
        oauth_clients.check_client_name(name)


def test_a_name_is_trimmed_and_an_app_without_one_is_called_so() -> None:
    assert oauth_clients.check_client_name("  Widget  ") == "Widget"
    assert oauth_clients.check_client_name(None) == oauth_clients.UNNAMED


@pytest.mark.parametrize(("uri", "url"), [
    ("https://a.example/b", "https://a.example/b?code=c+d&iss=x"),
    ("https://a.example/b?x=%41&y", "https://a.example/b?x=%41&y&code=c+d&iss=x"),
])
def test_an_answer_stands_behind_the_uri_as_it_was_registered(uri: str, url: str) -> None:
    assert oauth.with_answer(uri, {"code": "c d", "state": None, "iss": "x"}) == url
