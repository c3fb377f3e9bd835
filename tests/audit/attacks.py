"""Everything an agent might try to be taken for somebody who may change its budget, as data."""

from __future__ import annotations

import base64
from collections.abc import Mapping

Headers = Mapping[str, str]

# Fields of a policy, and of other things that decide what an agent may do, for bodies that have no
# such field.
ADMISSION_FIELDS: Mapping[str, object] = {
    "policy": {"max_in_flight": 1000}, "max_in_flight": 1000, "max_claims_per_window": None,
    "admission": {"max_in_flight": 1000}, "window": None, "has_policy": False, "revision": 0,
    "verbs": ["set_admission_policy"], "scope_verbs": ["set_admission_policy"], "scope": "operator",
    "reason": "please", "verb": "set_admission_policy", "_method": "PUT", "human_id": "{human}",
    "endpoint": "{endpoint}", "owner": "op:{human}", "role": "owner", "as": "operator",
    "__proto__": {"verbs": ["set_admission_policy"]}, "force": True,
}  # fmt: skip

# Other spellings of the two verbs that a careless router might take for them.
SPELLINGS = (
    "set_admission_policy", "clear_admission_policy", "SET_ADMISSION_POLICY",
    "Set_Admission_Policy", "set-admission-policy", "setAdmissionPolicy", "set_admission_policy/",
    "/set_admission_policy", "//set_admission_policy", "./set_admission_policy",
    "verbs/../set_admission_policy", "whoami/../set_admission_policy",
    "whoami/set_admission_policy",
    "%73et_admission_policy", "set%5Fadmission%5Fpolicy", "set_admission_policy%20",
    "set_admission_policy%00", "set_admission_policy%0a", "set_admission_policy;x=1",
    "set_admission_policy.json", "set_admission_policy?verb=whoami",
    "whoami?verb=set_admission_policy",
    "whoami%2f..%2fset_admission_policy", "\uff53et_admission_policy", "set_admi\u00adssion_policy",
    "admission_status?policy=1", "admission_status/set", "clear_admission_policy/inbox",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def credentials(token: str) -> tuple[Headers, ...]:
    """The one secret the agent has, in every header that might be read as somebody's."""
    basic = [base64.b64encode(pair.encode()).decode() for pair in (f"{token}:", f":{token}",
                                                                   f"operator:{token}")]
    return (
        {"Authorization": f"Bearer {token}"}, {"Authorization": f"bearer {token}"},
        {"Authorization": f"BEARER   {token}  "}, {"Authorization": f"Token {token}"},
        {"Authorization": token}, {"Authorization": f"Bearer sbo_{token.removeprefix('sbk_')}"},
        {"Authorization": f"Bearer {token}, Bearer {token}"},
        *({"Authorization": f"Basic {text}"} for text in basic),
        {"X-Api-Key": token}, {"X-Auth-Token": token}, {"X-Access-Token": token},
        {"Proxy-Authorization": f"Bearer {token}"}, {"X-Authorization": f"Bearer {token}"},
        {"X-Original-Authorization": f"Bearer {token}"},
        {"Cookie": f"sb_session={token}"}, {"Cookie": f"__Host-sb_session={token}"},
        {"Cookie": f"sb_session={token}; __Host-sb_session={token}; session={token}"},
        {"Cookie": f"sb_session={token}", "Authorization": f"Bearer {token}"},
        {"X-CSRF-Token": token, "Cookie": f"sb_session={token}"},
    )  # fmt: skip


def disguises(human: str, path: str) -> tuple[Headers, ...]:
    """Headers by which proxies speak of other methods, addresses, hosts and people."""
    return (
        *({name: method} for method in ("PUT", "DELETE") for name in (
            "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method")),
        *({name: path} for name in ("X-Original-URL", "X-Rewrite-URL", "X-Forwarded-URI",
                                    "X-Forwarded-Path", "X-Accel-Redirect")),
        {"X-Forwarded-Prefix": "/api/v1"}, {"X-Script-Name": "/api/v1"},
        {"X-Forwarded-For": "127.0.0.1"}, {"X-Real-IP": "127.0.0.1"},
        {"X-Forwarded-Host": "localhost", "X-Forwarded-Proto": "https"},
        {"Forwarded": "for=127.0.0.1;proto=https;host=localhost"},
        *({name: human} for name in ("X-Forwarded-User", "X-Remote-User", "Remote-User",
                                     "X-User-Id", "X-Human-Id", "X-Impersonate-User", "From")),
        {"X-Switchboard-Verbs": "set_admission_policy"}, {"X-Scope": "operator"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"},
        {"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings"},
    )  # fmt: skip
