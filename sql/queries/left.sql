-- What a claim left, looked at after its commit.

-- name: count_in_flight
-- For the answer only, after the commit and outside any lock, when no cap made us count (R42).
select count(*)
  from todos t
 where t.queue_id = %(queue_id)s and t.state = 'claimed';
