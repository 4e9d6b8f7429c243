-- columns: connection, client, connection_name, virtual_host, channel, event, event_id, answers, outcome, certainty, exchange, routing_key, queue, route, consumer_tag, delivery_tag, settles, redelivered, message_id, correlation_id, body_size, content, elapsed_us, reply_code, reply_text, timestamp
-- A row a publish and delivery, and a return whose publish is unknown, with what became of it.
WITH ends AS (
  SELECT connection, answers,
         coalesce(max(CASE WHEN event IN ('returned', 'unroutable', 'destroyed') THEN event END), max(event)) AS ended,
         max(CASE WHEN event IN ('confirmed', 'settled') THEN outcome END) AS outcome,
         coalesce(max(CASE WHEN event IN ('returned', 'unroutable', 'destroyed') THEN elapsed_us END), max(elapsed_us)) AS elapsed_us,
         coalesce(max(CASE WHEN event IN ('returned', 'unroutable', 'destroyed') THEN certainty END), max(certainty)) AS certainty,
         max(queue) AS queue, max(delivery_tag) AS delivery_tag, max(reply_code) AS reply_code, max(reply_text) AS reply_text,
         max(CASE WHEN event = 'returned' THEN message_id END) AS message_id, max(CASE WHEN event = 'returned' THEN correlation_id END) AS correlation_id,
         max(CASE WHEN event = 'returned' THEN body_size END) AS body_size, max(CASE WHEN event = 'returned' THEN content END) AS content
  FROM events
  WHERE event IN ('returned', 'confirmed', 'unconfirmed', 'unroutable', 'destroyed', 'settled', 'requeued', 'waiting') AND answers IS NOT NULL
  GROUP BY connection, answers
)
SELECT m.timestamp AS began_at, m.event, coalesce(e.ended, CASE WHEN m.settles = 'automatic' THEN 'settled' END) AS ended,
       coalesce(e.outcome, CASE WHEN m.settles = 'automatic' THEN 'accepted' END) AS outcome, e.elapsed_us,
       coalesce(e.certainty, CASE WHEN m.settles = 'automatic' THEN 'exact' END, 'unknown') AS certainty,
       greatest(m.message_id, e.message_id) AS message_id, greatest(m.correlation_id, e.correlation_id) AS correlation_id,
       m.virtual_host, m.exchange, m.routing_key, greatest(m.queue, e.queue) AS queue, CASE WHEN m.event = 'published' THEN m.route END AS route,
       m.connection_name, m.client, m.consumer_tag, greatest(m.delivery_tag, e.delivery_tag) AS delivery_tag, m.redelivered,
       greatest(m.body_size, e.body_size) AS body_size, greatest(m.content, e.content) AS content,
       greatest(m.reply_code, e.reply_code) AS reply_code, greatest(m.reply_text, e.reply_text) AS reply_text, m.connection, m.channel, m.event_id
FROM events m LEFT JOIN ends e ON m.event_id = e.answers AND m.connection IS NOT DISTINCT FROM e.connection
WHERE m.event IN ('published', 'delivered', 'returned') AND m.answers IS NULL
ORDER BY began_at NULLS LAST, m.connection, m.event_id
