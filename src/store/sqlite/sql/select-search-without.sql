SELECT session, first, next, checksum FROM search_ranges
WHERE id NOT IN (SELECT rowid FROM search_text WHERE search_text MATCH $terms)
