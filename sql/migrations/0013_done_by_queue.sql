-- Why: a scrape counts every queue's todos by state. `done` is the state that grows, and without
-- an index of its own its count reads the whole table, payloads and all. One entry per todo done.
-- Locks: todos, against writes, while the index is built. Safe live: yes, a large table waits.

create index todos_done on todos (queue_id) where state = 'done';
