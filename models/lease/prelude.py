"""What scripts begin with: the server's time, whether a lead still holds, how a lease ends.

Whole numbers are written with `whole`, since Redis 7.0 would write 0 with a minus as `-0` and 2e11
as `2e+11`, and then take them for no integers.
"""

DEPOSED = "DEPOSED"  # the first word of a refusal

NOW = """
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
