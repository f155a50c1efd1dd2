-- Putting checkpoints at places.

-- A checkpoint that was added takes its place; what was written there stays. The one that was there (`there` at `spot`,
-- if somebody `looked`) is freed, what it alone used as well unless the caller sees to that (`dropped`).
function settle(checkpoint, thread)
  local spot, run, there = checkpoint.spot, checkpoint.run, checkpoint.there
  if not checkpoint.looked then
    spot, run = split_place(checkpoint.place)
    there = id_at(thread, spot)
  end
  redis.call('ZADD', P .. 'g:' .. thread, 0, spot .. checkpoint.id)
  if run ~= '' then
    redis.call('ZADD', P .. 'r:' .. run, 0, checkpoint.id)
  end
  if there then
    redis.call('ZREM', P .. 'g:' .. thread, spot .. there)
  end
  if there and there ~= '' then
    local _, head = read_head(there)
    local dropped = checkpoint.dropped or {}
    discard(there, thread, head, dropped)
    if not checkpoint.dropped then
      free_logs(dropped)
    end
  end
end
