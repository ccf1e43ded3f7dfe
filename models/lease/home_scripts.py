"""Home's scripts, in Lua: each is one step that cannot be seen half done.

A script that only a leader may run wants its fence as the first argument, and refuses with
`DEPOSED` and the fence that leads now; 0 is for a run of one's own, beside which no other scheduler
can be.
"""

from .prelude import NOW

# ARGV: lead, freshness ms, time to live ms, then per lease: attempt, node, cpu, memory.
# Returns per lease its fence, or 0 where the node is not up, not fresh, or has no room.
GRANT = (
    NOW
    + """
local refusal = deposed(ARGV[1])
if refusal then return refusal end
local at, out = now(), {}
for i = 4, #ARGV, 4 do
  local attempt, node = ARGV[i], ARGV[i + 1]
  local cpu, memory = tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local key = P .. 'node:' .. node
  local got = redis.call('HMGET', key,
    'state', 'free_cpu', 'free_memory', 'free_slots', 'incarnation')
  local beat = tonumber(redis.call('ZSCORE', P .. 'beats', node) or 0)
  local fence = 0
  if got[1] == 'up' and at - beat <= tonumber(ARGV[2]) and tonumber(got[2]) >= cpu
     and tonumber(got[3]) >= memory and tonumber(got[4]) >= 1
     and redis.call('EXISTS', P .. 'lease:' .. attempt) == 0 then
    fence = redis.call('INCR', P .. 'fence')
    redis.call('HINCRBY', key, 'free_cpu', whole(0 - cpu))
    redis.call('HINCRBY', key, 'free_memory', whole(0 - memory))
    redis.call('HINCRBY', key, 'free_slots', -1)
    redis.call('HSET', P .. 'lease:' .. attempt, 'node', node, 'fence', whole(fence),
      'cpu', ARGV[i + 2], 'memory', ARGV[i + 3], 'incarnation', got[5], 'started', 0)
    redis.call('SADD', P .. 'held:' .. node, attempt)
    redis.call('ZADD', P .. 'expiry', at + tonumber(ARGV[3]), attempt)
  end
  out[#out + 1] = fence
end
return out
"""
)

# ARGV: freshness ms. What nodes that are up and fresh have free: node, cpu, memory, slots, node, ….
FREE = (
    NOW
    + """
local out = {}
for _, node in ipairs(redis.call('ZRANGEBYSCORE', P .. 'beats', now() - ARGV[1], '+inf')) do
  local got = redis.call('HMGET', P .. 'node:' .. node,
    'state', 'free_cpu', 'free_memory', 'free_slots')
  local cpu, memory, slots = tonumber(got[2]), tonumber(got[3]), tonumber(got[4])
  if got[1] == 'up' and cpu and memory and slots then
    out[#out + 1] = node
    out[#out + 1] = cpu
    out[#out + 1] = memory
    out[#out + 1] = slots
  end
end
return out
"""
)

# ARGV: lead, at most so many, longest lease ms. Ends leases whose time is over. Returns attempt,
# node, started, ms since the node was heard of ('' if never), whether there was a gap since,
# attempt, …. Times that lie further ahead than they were ever set are of a clock that was put back.
REAP = (
    NOW
    + """
local refusal = deposed(ARGV[1])
if refusal then return refusal end
local at, out = now(), {}
local longest = at + ARGV[3]
for _, node in ipairs(redis.call('ZRANGEBYSCORE', P .. 'beats', '(' .. at, '+inf')) do
  redis.call('ZADD', P .. 'beats', at, node)
end
for _, attempt in ipairs(redis.call('ZRANGEBYSCORE', P .. 'expiry', '(' .. longest, '+inf')) do
  redis.call('ZADD', P .. 'expiry', longest, attempt)
end
local hold = held_until(at)
if at < hold then return out end
local over = redis.call('ZRANGEBYSCORE', P .. 'expiry', '-inf', at, 'LIMIT', 0, ARGV[2])
for _, attempt in ipairs(over) do
  local started = redis.call('HGET', P .. 'lease:' .. attempt, 'started') or '0'
  local node = release(attempt) or ''
  local beat = redis.call('ZSCORE', P .. 'beats', node)
  out[#out + 1] = attempt
  out[#out + 1] = node
  out[#out + 1] = started == '0' and '0' or '1'
  out[#out + 1] = beat and whole(at - beat) or ''
  out[#out + 1] = beat and hold > tonumber(beat) and '1' or '0'
end
return out
"""
)

# ARGV: lead, nodes that are not heard of. Ends their leases that have not started: nobody begins
# them.
DESPAIR = (
    NOW
    + """
local refusal = deposed(table.remove(ARGV, 1))
if refusal then return refusal end
for _, node in ipairs(ARGV) do
  for _, attempt in ipairs(redis.call('SMEMBERS', P .. 'held:' .. node)) do
    if redis.call('HGET', P .. 'lease:' .. attempt, 'started') == '0' then
      redis.call('ZADD', P .. 'expiry', 0, attempt)
    end
  end
end
return 1
"""
)

# ARGV: lead, attempts. Gives back leases that were granted and never sent. Returns how many there
# were.
REVOKE = (
    NOW
    + """
local refusal = deposed(table.remove(ARGV, 1))
if refusal then return refusal end
local n = 0
for _, attempt in ipairs(ARGV) do
  if release(attempt) then n = n + 1 end
end
return n
"""
)

# ARGV: token, time to live ms, lowest fence. Takes or renews the lead. Returns the fence of this
# lead, or 0. The ledger knows the lowest fence: the counter here may have been lost. No lead lasts
# longer than its time to live, also when the clock was put back since it was taken.
LEAD = (
    NOW
    + """
local key, counter = P .. 'leader', P .. 'fence'
local holder = redis.call('HGET', key, 'token')
if holder and holder ~= ARGV[1] then
  if redis.call('PTTL', key) > tonumber(ARGV[2]) then redis.call('PEXPIRE', key, ARGV[2]) end
  return 0
end
if not holder then
  if redis.call('INCR', counter) < tonumber(ARGV[3]) then redis.call('SET', counter, ARGV[3]) end
  redis.call('HSET', key, 'token', ARGV[1], 'fence', redis.call('GET', counter))
end
redis.call('PEXPIRE', key, ARGV[2])
return tonumber(redis.call('HGET', key, 'fence'))
"""
)

# ARGV: token. Gives up the lead if it is ours.
STEP_DOWN = (
    NOW
    + """
local key = P .. 'leader'
if redis.call('HGET', key, 'token') ~= ARGV[1] then return 0 end
return redis.call('DEL', key)
"""
)

# ARGV: lead, attempts. Asks the nodes to stop attempts that run.
STOP = (
    NOW
    + """
local refusal = deposed(table.remove(ARGV, 1))
if refusal then return refusal end
for _, attempt in ipairs(ARGV) do redis.call('SADD', P .. 'cancel', attempt) end
return #ARGV
"""
)

# ARGV: lead, then per message: queue, envelope.
PUSH = (
    NOW
    + """
local refusal = deposed(ARGV[1])
if refusal then return refusal end
for i = 2, #ARGV, 2 do redis.call('LPUSH', ARGV[i], ARGV[i + 1]) end
return 1
"""
)
