-- columns: connection, connection_name, virtual_host, event, event_id, initiator, certainty, exchange, routing_key, queue, consumer_tag, redelivered, message_id, correlation_id, content, elapsed_us, time_us
-- A row a queue (a consumer, where its queue is unknown) and an exchange: how long messages waited and took, and how long confirms, gets and replies did.
WITH named AS (
  SELECT event, virtual_host, exchange, routing_key, queue, connection_name, consumer_tag, time_us, coalesce(message_id, CAST(content AS STRING)) AS message
  FROM events
  WHERE (event = 'published' OR event = 'delivered' AND NOT redelivered) AND coalesce(message_id, CAST(content AS STRING)) IS NOT NULL
), publications AS (
  SELECT exchange, routing_key, message, max(time_us) AS published_us
  FROM named
  WHERE event = 'published'
  GROUP BY exchange, routing_key, message
  HAVING count(*) = 1
), deliveries AS (
  SELECT exchange, routing_key, message, virtual_host, queue, CASE WHEN queue IS NULL THEN connection_name END AS connection_name, CASE WHEN queue IS NULL THEN consumer_tag END AS consumer_tag,
         count(*) AS copies, max(time_us) AS time_us
  FROM named
  WHERE event = 'delivered'
  GROUP BY exchange, routing_key, message, virtual_host, queue, CASE WHEN queue IS NULL THEN connection_name END, CASE WHEN queue IS NULL THEN consumer_tag END
), spans AS (
  SELECT CASE event WHEN 'settled' THEN 'delivered to settled' WHEN 'confirmed' THEN 'published to confirmed' WHEN 'delivered' THEN 'get to get-ok' ELSE 'get to get-empty' END AS span,
         virtual_host, CASE WHEN event <> 'confirmed' THEN queue END AS queue, CASE event WHEN 'confirmed' THEN exchange END AS exchange,
         CASE WHEN event = 'settled' AND queue IS NULL THEN connection_name END AS connection_name,
         CASE WHEN event = 'settled' AND queue IS NULL THEN consumer_tag END AS consumer_tag,
         certainty, elapsed_us, 1 AS copies
  FROM events
  WHERE event IN ('confirmed', 'get-empty') OR event = 'settled' AND initiator <> 'server' OR event = 'delivered' AND consumer_tag IS NULL AND elapsed_us IS NOT NULL
  UNION ALL
  SELECT 'published to delivered', d.virtual_host, d.queue, CAST(NULL AS STRING), d.connection_name, d.consumer_tag, 'inferred',
         CASE WHEN d.copies = 1 AND d.time_us >= p.published_us THEN d.time_us - p.published_us END, d.copies
  FROM deliveries d LEFT JOIN publications p ON p.message = d.message AND p.exchange IS NOT DISTINCT FROM d.exchange AND p.routing_key IS NOT DISTINCT FROM d.routing_key
  UNION ALL
  SELECT 'request to reply', virtual_host, queue, exchange, CAST(NULL AS STRING), CAST(NULL AS STRING), 'inferred',
         CASE WHEN replied_us >= time_us THEN replied_us - time_us END, 1
  FROM (
    SELECT virtual_host, queue, exchange, time_us,
           row_number() OVER (PARTITION BY virtual_host, correlation_id ORDER BY time_us NULLS LAST, connection, event_id) AS turn,
           count(*) OVER (PARTITION BY virtual_host, correlation_id) AS turns,
           lead(time_us) OVER (PARTITION BY virtual_host, correlation_id ORDER BY time_us NULLS LAST, connection, event_id) AS replied_us,
           lead(exchange) OVER (PARTITION BY virtual_host, correlation_id ORDER BY time_us NULLS LAST, connection, event_id) AS reply_exchange
    FROM events
    WHERE event = 'published' AND correlation_id IS NOT NULL
  ) AS talks
  WHERE turn = 1 AND turns = 2 AND reply_exchange = ''
)
SELECT span, virtual_host, queue, exchange, connection_name, consumer_tag, count(elapsed_us) AS count, CAST(sum(copies) AS BIGINT) - count(elapsed_us) AS unknown,
       CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY elapsed_us) AS DOUBLE) / 1000 AS p50_ms,
       CAST(percentile_disc(0.9) WITHIN GROUP (ORDER BY elapsed_us) AS DOUBLE) / 1000 AS p90_ms,
       CAST(percentile_disc(0.99) WITHIN GROUP (ORDER BY elapsed_us) AS DOUBLE) / 1000 AS p99_ms,
       CAST(max(elapsed_us) AS DOUBLE) / 1000 AS max_ms,
       max(CASE WHEN elapsed_us IS NOT NULL THEN certainty END) AS certainty
FROM spans
GROUP BY span, virtual_host, queue, exchange, connection_name, consumer_tag
ORDER BY span, p99_ms DESC NULLS LAST, virtual_host NULLS LAST, queue NULLS LAST, exchange NULLS LAST, connection_name NULLS LAST, consumer_tag NULLS LAST
