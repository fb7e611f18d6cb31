DROP VIEW session_events
