-- columns: connection, client, connection_name, virtual_host, channel, event, event_id, answers, certainty, queue, consumer_tag, delivery_tag, settles, redelivered, message_id, body_size, elapsed_us, timestamp
-- A row a delivery that nobody settled: those that wait where the reading ends, then those of which it is unknown.
SELECT delivered_at, age_us, virtual_host, queue, connection_name, client, consumer_tag, message_id, redelivered, body_size, connection, channel, delivery_tag,
       CASE WHEN waiting = 0 THEN 'unknown' ELSE certainty END AS certainty
FROM (
  SELECT connection, coalesce(answers, event_id) AS delivery,
         max(CASE WHEN event = 'delivered' THEN timestamp END) AS delivered_at,
         max(CASE WHEN event = 'waiting' THEN elapsed_us END) AS age_us,
         max(client) AS client, max(connection_name) AS connection_name, max(virtual_host) AS virtual_host, max(channel) AS channel, max(queue) AS queue,
         max(consumer_tag) AS consumer_tag, max(delivery_tag) AS delivery_tag, max(message_id) AS message_id,
         max(redelivered) AS redelivered, max(body_size) AS body_size,
         max(CASE WHEN event IN ('delivered', 'waiting') THEN certainty END) AS certainty,
         count(*) FILTER (WHERE event = 'delivered' AND settles = 'manual') AS delivered,
         count(*) FILTER (WHERE event = 'waiting') AS waiting,
         count(*) FILTER (WHERE event IN ('settled', 'requeued')) AS ended
  FROM events
  WHERE event = 'delivered' OR event IN ('settled', 'requeued', 'waiting') AND answers IS NOT NULL
  GROUP BY connection, coalesce(answers, event_id)
) AS deliveries
WHERE delivered = 1 AND ended = 0
ORDER BY waiting DESC, delivered_at NULLS LAST, connection, delivery
