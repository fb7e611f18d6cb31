DELETE FROM search_text WHERE rowid IN (SELECT id FROM search_ranges WHERE session = $session)
