"""The scripts, in Lua: each is one step that cannot be seen half done.

Numbers are whole: milli-cores and bytes. They are written with `whole`, since Redis 7.0 would write
0 with a minus as `-0` and 2e11 as `2e+11`, and then take them for no integers. Every script takes
the time from the server. A script that only a leader may run wants its fence as the first argument,
and refuses with `DEPOSED` and the fence that leads now; 0 is for a run of one's own, beside which
no other scheduler can be.
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
  if got[1] == 'up' then
    out[#out + 1] = node
    out[#out + 1] = tonumber(got[2])
    out[#out + 1] = tonumber(got[3])
    out[#out + 1] = tonumber(got[4])
  end
end
return out
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
redis.call('SREM', P .. 'cancel', ARGV[1])
if redis.call('HGET', P .. 'lease:' .. ARGV[1], 'fence') ~= ARGV[2] then return 0 end
release(ARGV[1])
return 1
"""
)

# ARGV: lead, at most so many, gap ms, hold ms, longest lease ms. Ends leases whose time is over.
# Returns attempt, node, started, ms since the node was heard of ('' if never), attempt, …. After a
# gap without a reaper nobody could be told from those who could not renew (the server stood still,
# was away, or its clock jumped): then nothing ends for a while. Times that lie further ahead than
# they were ever set are of a clock that was put back since.
REAP = (
    NOW
    + """
local refusal = deposed(ARGV[1])
if refusal then return refusal end
local at, key, out = now(), P .. 'reaper', {}
local longest = at + ARGV[5]
for _, node in ipairs(redis.call('ZRANGEBYSCORE', P .. 'beats', '(' .. at, '+inf')) do
  redis.call('ZADD', P .. 'beats', at, node)
end
for _, attempt in ipairs(redis.call('ZRANGEBYSCORE', P .. 'expiry', '(' .. longest, '+inf')) do
  redis.call('ZADD', P .. 'expiry', longest, attempt)
end
local got = redis.call('HMGET', key, 'at', 'hold')
local hold = math.min(tonumber(got[2] or 0), at + ARGV[4])
if got[1] and math.abs(at - got[1]) > tonumber(ARGV[3]) then hold = at + ARGV[4] end
redis.call('HSET', key, 'at', at, 'hold', hold)
if at < hold then return out end
local over = redis.call('ZRANGEBYSCORE', P .. 'expiry', '-inf', at, 'LIMIT', 0, ARGV[2])
for _, attempt in ipairs(over) do
  local started = redis.call('HGET', P .. 'lease:' .. attempt, 'started') or '0'
  local node = release(attempt) or ''
  local beat = redis.call('ZSCORE', P .. 'beats', node)
  out[#out + 1] = attempt
  out[#out + 1] = node
  out[#out + 1] = started == '0' and '0' or '1'
  out[#out + 1] = beat and tostring(at - beat) or ''
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

# ARGV: lead. Whether it leads still: 1, or the refusal.
STILL = (
    NOW
    + """
return deposed(ARGV[1]) or 1
"""
)
