INSERT INTO search_text (search_text, rank) VALUES ('hashsize', 16777216)
