-- name: read_team_queues
-- The team queues an endpoint drains now: its grants within its owner's live reach, per call.
select queue
  from endpoint_queues
 where endpoint_id = %(endpoint_id)s and team_id is not null
 order by queue;
