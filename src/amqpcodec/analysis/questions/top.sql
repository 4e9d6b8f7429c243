-- columns: connection_name, event, certainty, exchange, routing_key, queue, body_size
-- A row an exchange, routing key, queue and connection name: messages and bytes, the busiest first.
SELECT kind, name, CASE WHEN is_known THEN published END AS published, delivered, CASE WHEN is_known THEN published_bytes END AS published_bytes, delivered_bytes, unknown_sizes, certainty
FROM (
  SELECT counted.*, published + delivered AS messages, published_bytes + delivered_bytes AS message_bytes,
         kind <> 'queue' OR name IS NULL OR max(CASE WHEN kind = 'queue' AND name IS NULL THEN published ELSE 0 END) OVER () = 0 AS is_known
  FROM (
  SELECT CASE WHEN grouping(exchange) = 0 THEN 'exchange' WHEN grouping(routing_key) = 0 THEN 'routing_key' WHEN grouping(queue) = 0 THEN 'queue' ELSE 'connection_name' END AS kind,
         coalesce(exchange, routing_key, queue, connection_name) AS name,
         count(*) FILTER (WHERE event = 'published') AS published,
         count(*) FILTER (WHERE event = 'delivered') AS delivered,
         CAST(coalesce(sum(CASE WHEN event = 'published' THEN body_size END), 0) AS BIGINT) AS published_bytes,
         CAST(coalesce(sum(CASE WHEN event = 'delivered' THEN body_size END), 0) AS BIGINT) AS delivered_bytes,
         count(*) - count(body_size) AS unknown_sizes,
         CASE WHEN grouping(queue) = 0 THEN max(certainty) ELSE 'exact' END AS certainty
  FROM events
  WHERE event IN ('published', 'delivered')
  GROUP BY GROUPING SETS ((exchange), (routing_key), (queue), (connection_name))
  ) AS counted
) AS ranked
ORDER BY kind, messages DESC NULLS LAST, message_bytes DESC NULLS LAST, name NULLS LAST
