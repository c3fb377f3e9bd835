-- A person's own operator tokens: rows with a human and no client.

-- name: read_tokens
-- The count beside the rows says when there are more than a page shows.
select o.token_hash, o.name, o.created_at, o.last_used_at, count(*) over ()::int as in_all
  from oauth_tokens o
 where o.human_id = %(human_id)s
   and o.client_id is null
   and o.revoked_at is null
   and (o.expires_at is null or o.expires_at > clock())
 order by o.created_at desc, o.token_hash
 limit %(most)s;

-- name: read_token
-- The owner stands in the condition: another's token is the same as none.
select o.token_hash, o.name, o.created_at, o.last_used_at, 1 as in_all
  from oauth_tokens o
 where o.token_hash = %(token_hash)s
   and o.human_id = %(human_id)s
   and o.client_id is null
   and o.revoked_at is null
   and (o.expires_at is null or o.expires_at > clock());
