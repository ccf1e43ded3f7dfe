"""A node's scripts, in Lua: each is one step that cannot be seen half done.

Numbers are whole: milli-cores and bytes. Every script takes the time from the server.
"""

from .prelude import NOW

# ARGV: node, incarnation, cpu, memory, slots, state, hello. A new incarnation lets go of what the
# old one held: those leases end now, so that the reaper finds them. What this one holds still takes
# its capacity. A node that was set to drain stays so; else its state is what it says.
HELLO = (
    NOW
    + """
local node, key = ARGV[1], P .. 'node:' .. ARGV[1]
local cpu, memory, slots = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
for _, attempt in ipairs(redis.call('SMEMBERS', P .. 'held:' .. node)) do
  local got = redis.call('HMGET', P .. 'lease:' .. attempt, 'incarnation', 'cpu', 'memory')
  if got[1] == ARGV[2] then
    cpu, memory, slots = cpu - got[2], memory - got[3], slots - 1
  else
    redis.call('ZADD', P .. 'expiry', 0, attempt)
  end
end
local state = redis.call('HGET', key, 'state') == 'drain' and 'drain' or ARGV[6]
redis.call('HSET', key, 'incarnation', ARGV[2], 'state', state,
  'cpu', ARGV[3], 'memory', ARGV[4], 'slots', ARGV[5],
  'free_cpu', whole(cpu), 'free_memory', whole(memory), 'free_slots', slots, 'hello', ARGV[7])
redis.call('ZADD', P .. 'beats', now(), node)
return 1
"""
)

# ARGV: node, incarnation. The worker is going: nothing more is granted to it.
LEAVE = (
    NOW
    + """
local key = P .. 'node:' .. ARGV[1]
local got = redis.call('HMGET', key, 'incarnation', 'state')
if got[1] ~= ARGV[2] or got[2] ~= 'up' then return 0 end
redis.call('HSET', key, 'state', 'leaving')
return 1
"""
)

# ARGV: attempt, node, incarnation, fence, time to live ms, a word of this call alone. Returns 1
# once, for the holder alone: a replayed, doubled or late message gets 0. The same call may be asked
# again where its answer was lost on the way: its word is known.
START = (
    NOW
    + """
local key = P .. 'lease:' .. ARGV[1]
local got = redis.call('HMGET', key, 'node', 'incarnation', 'fence', 'started')
if got[1] ~= ARGV[2] or got[2] ~= ARGV[3] or got[3] ~= ARGV[4] then return 0 end
if got[4] ~= '0' and got[4] ~= ARGV[6] then return 0 end
redis.call('HSET', key, 'started', ARGV[6])
redis.call('ZADD', P .. 'expiry', now() + tonumber(ARGV[5]), ARGV[1])
return 1
"""
)

# ARGV: node, incarnation, time to live ms, then per lease: attempt, fence.
# Returns what is to be stopped: first 1 if the node must say hello again, then attempts.
BEAT = (
    NOW
    + """
local at = now()
local known = redis.call('HGET', P .. 'node:' .. ARGV[1], 'incarnation') == ARGV[2]
local out = {known and '0' or '1'}
if known then redis.call('ZADD', P .. 'beats', at, ARGV[1]) end
held_until(at)
for i = 4, #ARGV, 2 do
  local got = redis.call('HMGET', P .. 'lease:' .. ARGV[i], 'node', 'incarnation', 'fence')
  local ours = got[1] == ARGV[1] and got[2] == ARGV[2] and got[3] == ARGV[i + 1]
  if ours and redis.call('SISMEMBER', P .. 'cancel', ARGV[i]) == 0 then
    redis.call('ZADD', P .. 'expiry', at + tonumber(ARGV[3]), ARGV[i])
  else
    out[#out + 1] = ARGV[i]
  end
end
return out
"""
)

# ARGV: attempt, fence, record. The record always goes home; the lease ends only if it is still
# this one's. Returns 1 if it was.
FINISH = (
    NOW
    + """
redis.call('XADD', P .. 'records', '*', 'record', ARGV[3])
if redis.call('HGET', P .. 'lease:' .. ARGV[1], 'fence') ~= ARGV[2] then
  redis.call('SREM', P .. 'cancel', ARGV[1])
  return 0
end
release(ARGV[1])
return 1
"""
)
