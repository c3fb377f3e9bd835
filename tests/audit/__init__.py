"""Who may do what, walked for every route, verb, page, stream and command, as every kind of caller.

One file of rows per surface says what each caller is answered: `rows_api.py`, `rows_teams.py`,
`rows_open.py`, `rows_commands.py` and, for pages, the table of `tests/web/scene.py`. What has no
row fails.
"""
