"""The faults in what is counted, scraped and logged."""

from __future__ import annotations

from tests.mutants.planted import Mutant

SCRAPES = "tests/edge/test_metrics.py"
SLOTS = "tests/edge/test_metric_slots.py"
LABELS = "tests/edge/test_metric_labels.py"
LOGS = "tests/test_logs.py"

METRICS = (
    Mutant("an unset token opens metrics", "app/edge/identify.py",
           "if expected is None or not hmac.compare_digest(given, expected.encode()):",
           'if not hmac.compare_digest(given, (expected or "").encode()):',
           (SCRAPES, "-k", "without_a_configured_token")),
    Mutant("two processes count in one slot", "app/edge/metric_slots.py",
           "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", (SLOTS,)),
    Mutant("an empty file hides the others", "app/edge/metrics.py",
           ' if path.stat().st_size]', "]", (SLOTS, "-k", "half_made")),
    Mutant("every process has labels of its own", "app/edge/metrics.py",
           "QueueLabels(None if folder is None else folder / _NAMES_FILE)", "QueueLabels()",
           (SLOTS, "-k", "share")),
    Mutant("a failure is not counted", "app/edge/gauges.py",
           '            self._counting.moved(COLLECTION_ERRORS, 1, {"collector": name})\n', "",
           (SCRAPES, "-k", "broken_collector")),
    Mutant("an unreadable policy table is zero policies", "app/reads/admission.py",
           "if conn.closed or must_read:", "if conn.closed:",
           (SCRAPES, "-k", "broken_collector")),
    Mutant("a hanging database keeps its scrapes", "app/reads/gauges.py",
           "_STATEMENT_SECONDS = 2.0", "_STATEMENT_SECONDS = 30.0",
           (SCRAPES, "-k", "that_hangs")),
    Mutant("zero is left out", "app/edge/gauges.py",
           "            policies[label, status] += 0\n", "            pass\n",
           (SCRAPES, "-k", "exhausted_budget")),
    Mutant("labels without end", "app/edge/metric_labels.py", "MOST_QUEUES = 50",
           "MOST_QUEUES = 5000", (LABELS,)),
    Mutant("a claim is charged in the metrics twice", "app/transactions/admitting.py",
           'db.counters.add("switchboard_admission_charged_total", queue=pick.todo.queue_name)',
           'db.counters.add("switchboard_admission_charged_total", 2, queue=pick.todo.queue_name)',
           (SCRAPES, "-k", "exhausted_budget")),
    Mutant("the log is not searched for secrets", "app/logs.py", "                redact,\n", "",
           (LOGS, "-k", "tour")),
    Mutant("a request's facts stay in its thread", "app/edge/requests.py",
           "    app.teardown_request(forget)\n", "", (LOGS, "-k", "nothing_of_a_request")),
    Mutant("anyone may name a request", "app/edge/requests.py",
           "_ID.fullmatch(given) and is_from_trusted_proxy()", "_ID.fullmatch(given)",
           (LOGS, "-k", "trusted_proxy")),
)
