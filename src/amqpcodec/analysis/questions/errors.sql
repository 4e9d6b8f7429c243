-- columns: connection, connection_name, event, outcome, certainty, initiator, exchange, queue, request, reply_code, reason, reply_text, timestamp
-- A row a kind of trouble: what went wrong, for whom, how often, and when first and last.
SELECT event, outcome, initiator, connection_name, queue, exchange, request, reply_code,
       coalesce(reason, split_part(reply_text, ' - ', 1)) AS reason, max(reply_text) AS example, certainty,
       count(*) AS count, count(DISTINCT connection) AS connections, min(timestamp) AS first_event, max(timestamp) AS last_event
FROM events
WHERE event IN ('connection-refused', 'connection-lost', 'heartbeat-missed', 'link-closed', 'returned', 'unconfirmed', 'unroutable', 'destroyed', 'requeued', 'blocked', 'gap', 'protocol-error')
   OR event IN ('connection-closed', 'channel-closed') AND (reply_code NOT IN (0, 200) OR reply_code IS NULL AND reason IS NOT NULL)
   OR event IN ('confirmed', 'settled') AND outcome IN ('rejected', 'released', 'modified')
   OR event = 'consumer-cancelled' AND initiator = 'server'
GROUP BY event, outcome, initiator, connection_name, queue, exchange, request, reply_code, coalesce(reason, split_part(reply_text, ' - ', 1)), certainty
ORDER BY first_event NULLS LAST, count DESC, event, outcome NULLS LAST, connection_name NULLS LAST, queue NULLS LAST, exchange NULLS LAST,
         reply_code NULLS LAST, reason NULLS LAST, initiator NULLS LAST, request NULLS LAST, certainty
