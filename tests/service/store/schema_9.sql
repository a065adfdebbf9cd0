-- What a server of schema 9 (commit 9ce42e4) asks PostgreSQL for when it adds a match or entries.
WITH created AS ( INSERT INTO matches (match_id, game, ruleset, rules_version, secret, chance_id, bots, created,
entropy_from_seats, time_control, creator, invited, key_names, model, display_names, hint_policy, start, owner,
rematch_of, feed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $21)
ON CONFLICT DO NOTHING RETURNING match_id ), due AS ( INSERT INTO agenda SELECT match_id, $20::bigint FROM created
WHERE $20::bigint IS NOT NULL ) SELECT match_id FROM created;
WITH asked AS ( SELECT * FROM unnest( $1::text[], $2::integer[], $3::smallint[], $4::smallint[], $5::bigint[],
$6::bytea[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[] ) AS asked (match_id, version, kind, seat, at,
action, expected_version, request_id, feed, since) ) INSERT INTO entries ( match_id, version, kind, seat, at, action,
expected_version, request_id, feed ) SELECT match_id, version, kind, seat, at, action, expected_version, request_id,
feed FROM asked WHERE CASE WHEN version = 1 THEN ( SELECT since IS NULL OR created = since FROM matches WHERE
matches.match_id = asked.match_id ) ELSE ( SELECT since IS NULL OR entries.at = since FROM entries WHERE
entries.match_id = asked.match_id AND entries.version = asked.version - 1 ) END ORDER BY match_id ON CONFLICT DO
NOTHING RETURNING match_id;
WITH asked AS ( SELECT * FROM unnest( $1::text[], $2::integer[], $3::smallint[], $4::smallint[], $5::bigint[],
$6::bytea[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[] , $11::boolean[], $12::bigint[]) AS asked
(match_id, version, kind, seat, at, action, expected_version, request_id, feed, since, over, due) ), added AS ( INSERT
INTO entries ( match_id, version, kind, seat, at, action, expected_version, request_id, feed ) SELECT match_id,
version, kind, seat, at, action, expected_version, request_id, feed FROM asked WHERE CASE WHEN version = 1 THEN (
SELECT since IS NULL OR created = since FROM matches WHERE matches.match_id = asked.match_id ) ELSE ( SELECT since IS
NULL OR entries.at = since FROM entries WHERE entries.match_id = asked.match_id AND entries.version = asked.version -
1 ) END ORDER BY match_id ON CONFLICT DO NOTHING RETURNING match_id ), ended AS ( UPDATE matches SET ended = asked.at
FROM asked JOIN added USING (match_id) WHERE asked.over AND matches.match_id = asked.match_id ), done AS ( DELETE FROM
agenda USING asked JOIN added USING (match_id) WHERE asked.due IS NULL AND agenda.match_id = asked.match_id ), due AS
( INSERT INTO agenda SELECT match_id, due FROM asked JOIN added USING (match_id) WHERE due IS NOT NULL ON CONFLICT
(match_id) DO UPDATE SET at = excluded.at ) SELECT match_id FROM added
