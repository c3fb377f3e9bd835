"""The faults in the OAuth server: codes, refreshes, consent and what a grant opens."""

from __future__ import annotations

from tests.mutants.planted import Mutant

TOKENS = "tests/transactions/test_oauth_tokens.py"
CONSENT = "tests/transactions/test_oauth.py"
GRANTS = "tests/transactions/test_oauth_grants.py"
DOMAIN = "tests/domain/test_oauth.py"
HTTP = "tests/api/test_oauth.py"

SQL = "sql/queries/oauth_tokens.sql"
CODES = "sql/queries/oauth.sql"
IDENTITY = "sql/queries/identity.sql"
ACTS = "app/transactions/oauth_tokens.py"
ASKING = "app/reads/oauth_asking.py"

OAUTH = (
    Mutant("a code is good twice", SQL, "and used_at is null and expires_at > clock()",
           "and expires_at > clock()", (TOKENS, "-k", "twenty or comes_again")),
    Mutant("a code is good for ever", SQL, "and used_at is null and expires_at > clock()",
           "and used_at is null", (TOKENS, "-k", "for_a_minute")),
    Mutant("a replay ends nothing", ACTS,
           'ended = one(conn, SQL["mark_replayed_revoked"], params, EndedGrant)', "pass",
           (TOKENS, "-k", "comes_again")),
    Mutant("the verifier is not asked", ACTS,
           "hmac.compare_digest(code.code_challenge.encode(), asked.challenge.encode())", "True",
           (TOKENS, "-k", "one_part_wrong")),
    Mutant("a code is any app's", ACTS, "code.client_id == asked.client_id\n        and ", "",
           (TOKENS, "-k", "its_own_apps")),
    Mutant("a code leads anywhere", ACTS, "and code.redirect_uri == asked.redirect_uri", "",
           (TOKENS, "-k", "one_part_wrong")),
    Mutant("a refused code is not used up", ACTS, "        elif _is_bound(code, asked):",
           "        elif not _is_bound(code, asked):\n            conn.rollback()\n        else:",
           (TOKENS, "-k", "one_part_wrong")),
    Mutant("a rotated refresh ends nothing", ACTS,
           'ended = one(conn, SQL["mark_family_revoked"], params, EndedGrant)', "pass",
           (TOKENS, "-k", "rotated_ends")),
    Mutant("a refresh widens", ACTS, "if not set(named) <= set(held):", "if False:",
           (TOKENS, "-k", "never_widen")),
    Mutant("a refresh is any app's", ACTS, "if grant.client_id != asked.client_id:", "if False:",
           (TOKENS, "-k", "refresh_token_is_its_own")),
    Mutant("a refresh outlives the endpoint", SQL,
           "least(n.at + make_interval(secs => %(refresh_seconds)s), e.expires_at)",
           "n.at + make_interval(secs => %(refresh_seconds)s)", (TOKENS, "-k", "however_long")),
    Mutant("the suspended are served", SQL,
           "   and u.suspended_at is null and h.suspended_at is null and t.suspended_at is null\n",
           "", (TOKENS, "-k", "suspended")),
    Mutant("a header with a secret is a bad request", "app/api/oauth.py",
           "raise InvalidClientError(_NO_SECRET, status_code=401)",
           "raise InvalidClientError(_NO_SECRET)", (HTTP, "-k", "shows_a_secret")),
    Mutant("a demoted admin's code is good", SQL,
           "\n            and exists (select 1 from human_endpoints r\n"
           "                         where r.endpoint_id = c.endpoint_id\n"
           "                           and r.human_id = c.granted_by_human_id\n"
           "                           and r.role in ('owner', 'admin'))", "",
           (TOKENS, "-k", "may_configure and demoted")),
    Mutant("any member of the team may renew", SQL,
           "                         where r.endpoint_id = p.endpoint_id\n"
           "                           and r.human_id = p.granted_by_human_id\n"
           "                           and r.role in ('owner', 'admin')",
           "                         where r.endpoint_id = p.endpoint_id\n"
           "                           and r.human_id = p.granted_by_human_id",
           (TOKENS, "-k", "may_configure and demoted")),
    Mutant("a demoted admin's app goes on", IDENTITY,
           "\n                      and m.role in ('owner', 'admin')", "",
           (TOKENS, "-k", "may_configure and demoted")),
    Mutant("a removed admin's app goes on", IDENTITY,
           "m.human_id = o.granted_by_human_id\n", "true\n",
           (TOKENS, "-k", "may_configure and removed")),
    Mutant("a suspended admin's app goes on", IDENTITY,
           "join humans g on g.id = m.human_id and g.suspended_at is null",
           "join humans g on g.id = m.human_id", (TOKENS, "-k", "may_configure and suspended")),
    Mutant("a demoted admin's stream goes on", IDENTITY,
           "   and o.revoked_at is null and o.expires_at > clock()\n   and (",
           "   and o.revoked_at is null and o.expires_at > clock()\n   and (true or ",
           (HTTP, "-k", "stream_ends")),
    Mutant("a grant opens what the endpoint lacks", IDENTITY,
           "       array(select v.verb from unnest(e.scope_verbs) v (verb)",
           "       array(select v.verb from unnest(o.scope_verbs) v (verb)",
           (TOKENS, "-k", "endpoint_lacks")),
    Mutant("narrowing is not kept", IDENTITY,
           "\n                and (o.token_verbs is null or v.verb = any (o.token_verbs))", "",
           (TOKENS, "-k", "never_widen")),
    Mutant("a redirect URI by its beginning", ASKING, "or uri not in found.redirect_uris",
           "or not uri.startswith(found.redirect_uris[0])", (CONSENT, "-k", "one_character")),
    Mutant("the insert asks nobody", CODES,
           " where h.human_id = %(human_id)s and h.role in ('owner', 'admin')\n"
           "   and e.id = %(endpoint_id)s", " where e.id = %(endpoint_id)s",
           (CONSENT, "-k", "asks_again")),
    Mutant("a member consents", "sql/queries/oauth_asking.sql",
           "h.human_id = %(human_id)s and h.role in ('owner', 'admin')",
           "h.human_id = %(human_id)s", (CONSENT, "-k", "may_configure")),
    Mutant("what was not listed is granted", "app/transactions/oauth.py",
           "if not set(verbs) <= set(found.verbs):", "if False:",
           (CONSENT, "-k", "cannot_be_ticked or not_listed")),
    Mutant("admission verbs stand ticked", "app/domain/oauth.py",
           "return tuple(verb for verb in verbs if verb not in ADMISSION)", "return tuple(verbs)",
           (DOMAIN, CONSENT, "-k", "ticked")),
    Mutant("anybody ends a grant", "sql/queries/oauth_grants.sql",
           "                      and h.role in ('owner', 'admin')))", "))",
           (GRANTS, "-k", "only_who")),
    Mutant("DELETE /token leaves the refresh", "app/api/operator/me.py",
           "oauth_grants.revoke(database(), human(), str(token.grant_id))", "pass",
           (HTTP, "-k", "deleting")),
    Mutant("a stream outlives its grant", "app/edge/ringer.py",
           "[*ended, *self._without_grant()]", "ended", (HTTP, "-k", "stream_ends")),
    Mutant("the Host names the server", "app/api/oauth_metadata.py",
           "    return jsonify(server_metadata(state().config.base_url))",
           '    return jsonify(server_metadata(request.host_url.rstrip("/")))',
           (HTTP, "-k", "forged"),
           and_also=(("from flask import Blueprint, jsonify",
                      "from flask import Blueprint, jsonify, request"),)),
)  # fmt: skip
