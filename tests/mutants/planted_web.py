"""The faults in signing in, in the gates of the pages, and in what an answer may name."""

from __future__ import annotations

from tests.mutants.planted import Mutant

OIDC = "tests/web/test_oidc.py"
TOKENS = "tests/web/test_oidc_tokens.py"
STRANGERS = "tests/web/test_strangers.py"
GATES = "tests/web/test_page_gates.py"
LIFE = "tests/web/test_session_life.py"

CALLBACK = "app/web/oidc.py"
CHECKS = "app/web/oidc_tokens.py"
PEOPLE = "sql/queries/provider_people.sql"

WEB = (
    Mutant("the nonce is not asked", CHECKS, '            "nonce": expected.nonce,\n', "",
           (TOKENS, "-k", "another_question")),
    Mutant("a token for another client is taken", CHECKS,
           '            "aud": {"essential": True, "value": expected.client_id},\n', "",
           (TOKENS, "-k", "refused")),
    Mutant("a token of another issuer is taken", CHECKS,
           '"essential": True, "value": expected.issuer', '"essential": True',
           (TOKENS, "-k", "refused")),
    Mutant("a token's end is not asked", CHECKS, "leeway=LEEWAY_SECONDS",
           "leeway=10**12", (TOKENS, "-k", "refused")),
    Mutant("the state is not compared", CALLBACK,
           "not hmac.compare_digest(known.encode(), shown.encode())", "False",
           (OIDC, "-k", "another_state")),
    Mutant("a note is good for ever", CALLBACK, "or is_late or", "or", (OIDC, "-k", "ten_minutes")),
    Mutant("a note serves twice", CALLBACK, 'return _with_note(response, "", max_age=0)',
           "return response", (OIDC, "-k", "counts_once")),
    Mutant("no PKCE", "app/web/oidc_provider.py", '            code_challenge_method="S256",\n', "",
           (OIDC, "-k", "pkce")),
    Mutant("a person is an email address", PEOPLE,
           " where oidc_issuer = %(issuer)s and oidc_subject = %(subject)s",
           " where (oidc_issuer = %(issuer)s and oidc_subject = %(subject)s) or email = %(email)s",
           (OIDC, "-k", "recognised")),
    Mutant("a suspended human comes in", "app/transactions/provider_people.py",
           "    if human.is_suspended:", "    if False:", (OIDC, "-k", "suspended")),
    Mutant("an unverified address is on the list", CHECKS,
           'email if claims.get("email_verified") is True else None', "email",
           (OIDC, "-k", "enrollment_admits")),
    Mutant("a session without a request goes on", "sql/queries/identity.sql",
           "   and s.expires_at > clock()\n", "", (LIFE,)),
    Mutant("a session does not slide", "app/edge/identify.py",
           "        stamps.touch_session(database(), facts.token_hash)", "        pass", (LIFE,)),
    Mutant("forms of todos are taken without a token", "app/web/todo_actions.py",
           "bp.before_request(guard.check_form)\n", "", (GATES, "-k", "without_its_token")),
    Mutant("anybody's operator token is shown", "sql/queries/tokens.sql",
           " where o.token_hash = %(token_hash)s\n   and o.human_id = %(human_id)s\n",
           " where o.token_hash = %(token_hash)s\n", (STRANGERS, "-k", "does_not_exist")),
    Mutant("a page may be framed", "app/edge/headers.py",
           '    headers["X-Frame-Options"] = "DENY"\n', "", (GATES, "-k", "exact_headers")),
    Mutant("a new page has no row", "app/web/help.py", '@bp.get("/help")\n',
           '@bp.get("/help/new/page")\ndef stray() -> str:\n    """New."""\n    return ""\n\n\n'
           '@bp.get("/help")\n', (STRANGERS, "-k", "has_a_row")),
    Mutant("a name may show as nothing", "app/domain/tokens.py",
           "    if not has_ink(trimmed):", "    if not trimmed:", ("tests/domain/test_ink.py",)),
    Mutant("a rotation names the team that was left", "sql/migrations/0017_names_within_reach.sql",
           "\n     and (a.owner_team_id = q.team_id\n"
           "          or exists (select 1 from team_roles r\n"
           "                      where r.team_id = q.team_id and r.human_id = a.owner_human_id))",
           "", ("tests/audit/test_left_team.py",)),
)  # fmt: skip
