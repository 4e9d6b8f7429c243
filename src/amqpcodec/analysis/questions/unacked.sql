-- columns: connection, client, connection_name, virtual_host, channel, event, event_id, answers, certainty, queue, consumer_tag, delivery_tag, settles, redelivered, message_id, body_size, elapsed_us, timestamp
-- A row a delivery that nobody settled: those that wait where the reading ends, then those of which it is unknown.
WITH deliveries AS (
  SELECT connection, coalesce(answers, event_id) AS delivery, count(*) FILTER (WHERE event = 'waiting') AS waiting
  FROM events
  WHERE event = 'delivered' OR event IN ('settled', 'requeued', 'waiting') AND answers IS NOT NULL
  GROUP BY connection, coalesce(answers, event_id)
  HAVING count(*) FILTER (WHERE event = 'delivered' AND settles = 'manual') = 1 AND count(*) FILTER (WHERE event IN ('settled', 'requeued')) = 0
)
SELECT max(CASE WHEN e.event = 'delivered' THEN e.timestamp END) AS delivered_at, max(CASE WHEN e.event = 'waiting' THEN e.elapsed_us END) AS age_us,
       max(e.virtual_host) AS virtual_host, max(e.queue) AS queue, max(e.connection_name) AS connection_name, max(e.client) AS client,
       max(e.consumer_tag) AS consumer_tag, max(e.message_id) AS message_id, max(e.redelivered) AS redelivered, max(e.body_size) AS body_size,
       d.connection, max(e.channel) AS channel, max(e.delivery_tag) AS delivery_tag,
       CASE WHEN d.waiting = 0 THEN 'unknown' ELSE max(e.certainty) END AS certainty
FROM events e JOIN deliveries d ON e.connection IS NOT DISTINCT FROM d.connection AND coalesce(e.answers, e.event_id) = d.delivery
WHERE e.event = 'delivered' OR e.event = 'waiting' AND e.answers IS NOT NULL
GROUP BY d.connection, d.delivery, d.waiting
ORDER BY d.waiting DESC, delivered_at NULLS LAST, d.connection, d.delivery
