-- columns: connection_name, event, certainty, exchange, routing_key, queue, route, body_size
-- A row an exchange, routing key, queue and connection name: messages and bytes, the busiest first.
WITH counted AS (
  SELECT CASE WHEN grouping(exchange) = 0 THEN 'exchange' WHEN grouping(routing_key) = 0 THEN 'routing_key' WHEN grouping(queue) = 0 THEN 'queue' ELSE 'connection_name' END AS kind,
         coalesce(exchange, routing_key, queue, connection_name) AS name,
         count(*) FILTER (WHERE event = 'published') AS published,
         count(*) FILTER (WHERE event = 'published' AND queue IS NULL AND route IS NOT NULL) AS elsewhere,
         count(*) FILTER (WHERE event = 'published' AND route IS NULL) AS unrouted,
         count(*) FILTER (WHERE event = 'published' AND route IS NOT NULL AND certainty = 'inferred') AS guessed,
         count(*) FILTER (WHERE event = 'delivered') AS delivered,
         CAST(coalesce(sum(CASE WHEN event = 'published' THEN body_size END), 0) AS BIGINT) AS published_bytes,
         CAST(coalesce(sum(CASE WHEN event = 'published' AND queue IS NULL AND route IS NOT NULL THEN body_size END), 0) AS BIGINT) AS bytes_elsewhere,
         CAST(coalesce(sum(CASE WHEN event = 'delivered' THEN body_size END), 0) AS BIGINT) AS delivered_bytes,
         count(*) - count(body_size) AS unknown_sizes,
         count(*) FILTER (WHERE event = 'published' AND queue IS NULL AND route IS NOT NULL AND body_size IS NULL) AS unknown_elsewhere,
         CASE WHEN grouping(queue) = 0 THEN max(CASE WHEN event = 'delivered' OR queue IS NOT NULL OR route IS NULL THEN certainty END) ELSE 'exact' END AS certainty
  FROM events
  WHERE event IN ('published', 'delivered')
  GROUP BY GROUPING SETS ((exchange), (routing_key), (queue), (connection_name))
), named AS (
  SELECT queue, count(*) FILTER (WHERE event IN ('gap', 'protocol-error') OR event = 'connection-opened' AND certainty <> 'exact'
                                    OR event = 'connection-lost' AND certainty = 'unknown') AS gaps
  FROM events
  GROUP BY queue
), routed AS (
  SELECT route, count(*) AS published, CAST(coalesce(sum(body_size), 0) AS BIGINT) AS published_bytes, count(*) - count(body_size) AS unknown_sizes
  FROM events
  WHERE event = 'published' AND queue IS NULL AND route IS NOT NULL
  GROUP BY route
), added AS (
  SELECT kind, name, CASE WHEN kind = 'queue' AND name IS NULL THEN published - elsewhere ELSE published END AS published, unrouted, guessed, delivered,
         CASE WHEN kind = 'queue' AND name IS NULL THEN published_bytes - bytes_elsewhere ELSE published_bytes END AS published_bytes, delivered_bytes,
         CASE WHEN kind = 'queue' AND name IS NULL THEN unknown_sizes - unknown_elsewhere ELSE unknown_sizes END AS unknown_sizes, certainty, 0 AS gaps
  FROM counted
  UNION ALL
  SELECT 'queue', n.queue, coalesce(r.published, 0), 0, 0, 0, coalesce(r.published_bytes, 0), 0, coalesce(r.unknown_sizes, 0), CASE WHEN r.published IS NOT NULL THEN 'inferred' END, n.gaps
  FROM named n LEFT JOIN routed r ON array_contains(r.route, n.queue)
), summed AS (
  SELECT kind, name, CAST(sum(published) AS BIGINT) AS published, CAST(sum(unrouted) AS BIGINT) AS unrouted, CAST(sum(guessed) AS BIGINT) AS guessed,
         CAST(sum(delivered) AS BIGINT) AS delivered, CAST(sum(published_bytes) AS BIGINT) AS published_bytes, CAST(sum(delivered_bytes) AS BIGINT) AS delivered_bytes,
         CAST(sum(unknown_sizes) AS BIGINT) AS unknown_sizes, max(certainty) AS certainty, CAST(sum(gaps) AS BIGINT) AS gaps
  FROM added
  GROUP BY kind, name
), totals AS (
  SELECT summed.*, published + delivered AS messages, published_bytes + delivered_bytes AS message_bytes,
         kind <> 'queue' OR name IS NULL OR max(CASE WHEN kind = 'queue' AND name IS NULL THEN unrouted ELSE 0 END) OVER () = 0
           AND (max(CASE WHEN kind = 'connection_name' THEN guessed ELSE 0 END) OVER () = 0 OR max(gaps) OVER () = 0) AS is_known
  FROM summed
)
SELECT kind, name, CASE WHEN is_known THEN published END AS published, delivered, CASE WHEN is_known THEN published_bytes END AS published_bytes, delivered_bytes, unknown_sizes, certainty
FROM totals
WHERE messages > 0
ORDER BY kind, messages DESC NULLS LAST, message_bytes DESC NULLS LAST, name NULLS LAST
