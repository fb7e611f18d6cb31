SELECT id AS rowid, count, type, time, body, sources, checksum FROM records
WHERE id >= ($session << 32) + $from AND id <= ($session << 32) + 4294967295
ORDER BY id
