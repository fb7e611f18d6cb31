DELETE FROM sessions WHERE number = $session
