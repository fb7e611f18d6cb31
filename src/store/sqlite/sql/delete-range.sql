DELETE FROM records WHERE id >= ($session << 32) + $first AND id <= ($session << 32) + $last
