-- Putting checkpoints at places.

-- Puts an added checkpoint at its place. What was written there stays. The checkpoint that was there before is freed
-- (`there` at `spot`, if the caller has `looked`), with what only it used (unless the caller frees that: `dropped`).
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
    local dropped = checkpoint.dropped or {}
    discard(there, thread, head_to_free(there, thread), dropped)
    if not checkpoint.dropped then
      free_logs(dropped)
    end
  end
end
