"""What scripts begin with: the server's time, whether a lead still holds, how a lease ends.

Whole numbers are written with `whole`, since Redis 7.0 would write 0 with a minus as `-0` and 2e11
as `2e+11`, and then take them for no integers.

Every heartbeat and every look at the leases is a sign that the server can be heard. After `GAP_MS`
without any, those who could not renew their leases cannot be told from those who are gone (the
server stood still, was away, or its clock jumped): then no lease ends for `HOLD_MS`.
"""

GAP_MS = 3_000
HOLD_MS = 5_000  # two heartbeats, and some

DEPOSED = "DEPOSED"  # the first word of a refusal

NOW = (
    f"""
local GAP, HOLD = {GAP_MS}, {HOLD_MS}
"""
    + """
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function whole(n) return string.format('%.0f', n) end
local P = 'infranoise:'
local function deposed(fence)
  local leads = redis.call('HGET', P .. 'leader', 'fence') or '0'
  if fence == '0' or fence == leads then return nil end
  return redis.error_reply('DEPOSED ' .. leads)
end
local function held_until(at)
  local key = P .. 'reaper'
  local got = redis.call('HMGET', key, 'at', 'hold')
  local hold = math.min(tonumber(got[2] or 0), at + HOLD)
  if got[1] and math.abs(at - got[1]) > GAP then hold = at + HOLD end
  redis.call('HSET', key, 'at', whole(at), 'hold', whole(hold))
  return hold
end
local function release(attempt)
  local lease = P .. 'lease:' .. attempt
  local got = redis.call('HMGET', lease, 'node', 'cpu', 'memory', 'incarnation')
  if got[1] then
    local node = P .. 'node:' .. got[1]
    if redis.call('HGET', node, 'incarnation') == got[4] then
      redis.call('HINCRBY', node, 'free_cpu', got[2])
      redis.call('HINCRBY', node, 'free_memory', got[3])
      redis.call('HINCRBY', node, 'free_slots', 1)
    end
    redis.call('SREM', P .. 'held:' .. got[1], attempt)
  end
  redis.call('DEL', lease)
  redis.call('ZREM', P .. 'expiry', attempt)
  redis.call('SREM', P .. 'cancel', attempt)
  return got[1]
end
"""
)
