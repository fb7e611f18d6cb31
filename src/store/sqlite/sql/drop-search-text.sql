DROP TABLE search_text
