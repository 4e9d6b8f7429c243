-- columns: connection, client, connection_name, virtual_host, channel, event, event_id, outcome, certainty, initiator, exchange, routing_key, queue, consumer_tag, delivery_tag, message_id, elapsed_us, request, reply_code, reason, reply_text, time_us, timestamp
-- A row each of what errors counts, in the order of time.
SELECT timestamp, event, outcome, initiator, connection_name, client, virtual_host, channel, queue, exchange, routing_key, consumer_tag, delivery_tag, message_id, elapsed_us,
       request, reply_code, coalesce(reply_text, reason) AS text, certainty, connection, event_id
FROM events
WHERE event IN ('connection-refused', 'connection-lost', 'heartbeat-missed', 'link-closed', 'returned', 'unconfirmed', 'unroutable', 'destroyed', 'requeued', 'blocked', 'gap', 'protocol-error')
   OR event IN ('connection-closed', 'channel-closed') AND (reply_code NOT IN (0, 200) OR reply_code IS NULL AND reason IS NOT NULL)
   OR event IN ('confirmed', 'settled') AND outcome IN ('rejected', 'released', 'modified')
   OR event = 'consumer-cancelled' AND initiator = 'server'
ORDER BY time_us NULLS LAST, connection, event_id
