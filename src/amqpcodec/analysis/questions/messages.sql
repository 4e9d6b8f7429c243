-- columns: connection, client, connection_name, virtual_host, channel, event, event_id, answers, outcome, certainty, exchange, routing_key, queue, route, consumer_tag, delivery_tag, settles, redelivered, message_id, correlation_id, body_size, content, elapsed_us, reply_code, reply_text, timestamp
-- A row a publish and delivery, and a return whose publish is unknown, with what became of it.
SELECT began_at, event, ended, outcome, elapsed_us, certainty, message_id, correlation_id, virtual_host, exchange, routing_key, queue, route, connection_name, client,
       consumer_tag, delivery_tag, redelivered, body_size, content, reply_code, reply_text, connection, channel, event_id
FROM (
  SELECT connection, coalesce(answers, event_id) AS event_id,
         max(CASE WHEN answers IS NULL THEN event END) AS event,
         max(CASE WHEN answers IS NULL THEN timestamp END) AS began_at,
         coalesce(max(CASE WHEN answers IS NOT NULL AND event IN ('returned', 'unroutable', 'destroyed') THEN event END),
                  max(CASE WHEN answers IS NOT NULL THEN event END), max(CASE WHEN settles = 'automatic' THEN 'settled' END)) AS ended,
         coalesce(max(CASE WHEN event IN ('confirmed', 'settled') THEN outcome END), max(CASE WHEN settles = 'automatic' THEN 'accepted' END)) AS outcome,
         coalesce(max(CASE WHEN answers IS NOT NULL AND event IN ('returned', 'unroutable', 'destroyed') THEN elapsed_us END),
                  max(CASE WHEN answers IS NOT NULL THEN elapsed_us END)) AS elapsed_us,
         coalesce(max(CASE WHEN answers IS NOT NULL AND event IN ('returned', 'unroutable', 'destroyed') THEN certainty END),
                  max(CASE WHEN answers IS NOT NULL THEN certainty END), max(CASE WHEN settles = 'automatic' THEN 'exact' END), 'unknown') AS certainty,
         max(message_id) AS message_id, max(correlation_id) AS correlation_id, max(exchange) AS exchange, max(routing_key) AS routing_key,
         max(queue) AS queue, max(CASE WHEN event = 'published' THEN route END) AS route, max(connection_name) AS connection_name, max(virtual_host) AS virtual_host,
         max(client) AS client, max(consumer_tag) AS consumer_tag,
         max(delivery_tag) AS delivery_tag, max(redelivered) AS redelivered, max(body_size) AS body_size, max(content) AS content,
         max(reply_code) AS reply_code, max(reply_text) AS reply_text, max(channel) AS channel
  FROM events
  WHERE event IN ('published', 'delivered', 'returned') OR event IN ('confirmed', 'unconfirmed', 'unroutable', 'destroyed', 'settled', 'requeued', 'waiting') AND answers IS NOT NULL
  GROUP BY connection, coalesce(answers, event_id)
) AS messages
WHERE event IS NOT NULL
ORDER BY began_at NULLS LAST, connection, event_id
