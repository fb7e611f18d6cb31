DROP TABLE search_ranges
