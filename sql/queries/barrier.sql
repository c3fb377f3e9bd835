-- name: defer_flush
-- For this claim's commit alone: its locks drop at once, and the barrier flushes before anybody
-- is answered.
set local synchronous_commit = off;

-- name: begin_barrier
-- A transaction of its own, at the session's own synchronous_commit.
begin;

-- name: write_barrier
-- A small record whose commit flushes everything written before it, the claims included.
select pg_logical_emit_message(true, 'switchboard', '');

-- name: commit_barrier
-- Concurrent barriers share flushes.
commit;
