-- columns: connection, connection_name, virtual_host, channel, event, certainty, exchange, routing_key, queue, consumer_tag, settles, reason, details, timestamp
-- A row an exchange, queue, binding and consumer: when it was last declared, bound or started, and when it last ended.
SELECT kind, virtual_host, exchange, routing_key, queue, consumer_tag, connection_name, settles, first_begun, last_begun,
       greatest(last_ended, CASE WHEN kind = 'binding' THEN max(CASE WHEN kind = 'queue' THEN last_ended END) OVER (PARTITION BY virtual_host, queue) END,
                CASE WHEN kind = 'binding' THEN max(CASE WHEN kind = 'exchange' THEN last_ended END) OVER (PARTITION BY virtual_host, exchange) END) AS last_ended,
       times, reason, certainty, details
FROM (
  SELECT kind, virtual_host, exchange, routing_key, queue, consumer_tag, connection_name, connection, channel, details_key,
         max(settles) AS settles,
         min(CASE WHEN begins THEN timestamp END) AS first_begun,
         max(CASE WHEN begins THEN timestamp END) AS last_begun,
         max(CASE WHEN NOT begins THEN timestamp END) AS last_ended,
         count(*) FILTER (WHERE begins) AS times,
         max(reason) AS reason, max(certainty) AS certainty,
         coalesce(max(CASE WHEN NOT is_passive THEN details END), max(details)) AS details
  FROM (
    SELECT CASE WHEN event IN ('consumer-started', 'consumer-cancelled') THEN 'consumer' WHEN event IN ('bound', 'unbound') THEN 'binding'
                WHEN queue IS NOT NULL THEN 'queue' WHEN exchange IS NOT NULL THEN 'exchange' ELSE 'unknown' END AS kind,
           event IN ('declared', 'bound', 'consumer-started') AS begins,
           virtual_host, exchange, routing_key, queue, consumer_tag,
           CASE WHEN event IN ('consumer-started', 'consumer-cancelled') THEN connection_name END AS connection_name,
           CASE WHEN event IN ('consumer-started', 'consumer-cancelled') THEN connection END AS connection,
           CASE WHEN event IN ('consumer-started', 'consumer-cancelled') THEN channel END AS channel,
           CASE WHEN event IN ('bound', 'unbound') THEN details END AS details_key,
           settles, certainty, reason, details, coalesce(details, '') LIKE '%passive_: true%' AS is_passive, timestamp
    FROM events
    WHERE event IN ('declared', 'deleted', 'bound', 'unbound', 'consumer-started', 'consumer-cancelled')
  ) AS named
  GROUP BY kind, virtual_host, exchange, routing_key, queue, consumer_tag, connection_name, connection, channel, details_key
) AS items
ORDER BY kind, virtual_host NULLS LAST, exchange NULLS LAST, queue NULLS LAST, routing_key NULLS LAST, details NULLS LAST, consumer_tag NULLS LAST,
         connection_name NULLS LAST, first_begun NULLS LAST, last_ended NULLS LAST
