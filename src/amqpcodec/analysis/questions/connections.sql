-- columns: connection, client, connection_name, user, virtual_host, channel, event, certainty, initiator, reply_code, reason, reply_text, heartbeat_s, details, timestamp
-- A row a connection: who it was, what it did, how it ended.
SELECT connection, max(client) AS client, max(connection_name) AS connection_name, max(user) AS user, max(virtual_host) AS virtual_host,
       min(timestamp) AS first_event, max(timestamp) AS last_event,
       max(CASE WHEN event = 'connection-opened' AND reason = 'before the recording' THEN 'before the recording'
                WHEN event = 'connection-opened' THEN 'in the recording' END) AS opened,
       count(DISTINCT channel) AS channels,
       count(*) FILTER (WHERE event = 'published') AS published,
       count(*) FILTER (WHERE event = 'delivered') AS delivered,
       count(*) FILTER (WHERE event = 'requeued') AS requeued,
       count(*) FILTER (WHERE event = 'unconfirmed') AS unconfirmed,
       count(*) FILTER (WHERE event IN ('gap', 'protocol-error')) AS gaps,
       max(CASE event WHEN 'connection-refused' THEN 'refused' WHEN 'connection-closed' THEN 'closed' WHEN 'connection-lost' THEN 'lost'
                      WHEN 'recording-ended' THEN 'open' END) AS ended,
       max(CASE WHEN event IN ('connection-refused', 'connection-closed', 'connection-lost') THEN initiator END) AS ended_by,
       max(CASE WHEN event IN ('connection-refused', 'connection-closed', 'connection-lost') THEN reply_code END) AS reply_code,
       coalesce(max(CASE WHEN event = 'heartbeat-missed' THEN 'heartbeat missed by the ' || initiator END),
                max(CASE WHEN event IN ('connection-refused', 'connection-closed', 'connection-lost') THEN coalesce(nullif(reply_text, ''), reason) END)) AS reason,
       coalesce(max(CASE WHEN event IN ('connection-refused', 'connection-closed', 'connection-lost', 'recording-ended') THEN certainty END), 'unknown') AS certainty,
       max(CASE WHEN event = 'connection-opened' THEN heartbeat_s END) AS heartbeat_s,
       max(CASE WHEN event IN ('connection-opened', 'connection-refused') THEN details END) AS details
FROM events
GROUP BY connection
ORDER BY first_event NULLS LAST, connection
