-- The limiter of admission writes: 1 a second, 10 at once, held here so that it holds over
-- processes and instances (R43). One statement refills, takes and answers: no row, no token.

-- name: upsert_bucket_of_human
-- A bucket that has less than one token is left as it is; its row lock makes takers one line.
insert into admission_write_buckets as b (human_id, tokens, refilled_at)
values (%(id)s, 9, clock())
    on conflict (human_id) do update
   set tokens = least(10, b.tokens + greatest(0, extract(epoch from clock() - b.refilled_at))) - 1,
       refilled_at = clock()
 where least(10, b.tokens + greatest(0, extract(epoch from clock() - b.refilled_at))) >= 1
returning true;

-- name: upsert_bucket_of_endpoint
-- The same for an agent that holds the verbs.
insert into admission_write_buckets as b (endpoint_id, tokens, refilled_at)
values (%(id)s, 9, clock())
    on conflict (endpoint_id) do update
   set tokens = least(10, b.tokens + greatest(0, extract(epoch from clock() - b.refilled_at))) - 1,
       refilled_at = clock()
 where least(10, b.tokens + greatest(0, extract(epoch from clock() - b.refilled_at))) >= 1
returning true;
