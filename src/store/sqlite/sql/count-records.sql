SELECT count(*) AS records, total(count) AS events FROM records WHERE id >= ($session << 32) + $from AND id <= ($session << 32) + 4294967295
