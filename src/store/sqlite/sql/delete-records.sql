DELETE FROM records WHERE session = $session
