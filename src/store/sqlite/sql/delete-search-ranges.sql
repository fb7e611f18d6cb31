DELETE FROM search_ranges WHERE session = $session
