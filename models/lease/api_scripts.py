"""The gateway's scripts, in Lua: a call is admitted and paid for in one step each.

What an attempt has taken is kept beside its lease and forgotten a day after its last call.
"""

# ARGV: attempt, fence, most calls, most tokens, most micro-dollars (0: no limit).
# Returns "" where the call may go on (it is counted), else why not.
ADMIT = """
local P = 'infranoise:'
local spent = P .. 'spent:' .. ARGV[1] .. ':' .. ARGV[2]
local function refuse(why)
  redis.call('HINCRBY', spent, 'refused:' .. why, 1)
  redis.call('EXPIRE', spent, 86400)
  return why
end
local lease = redis.call('HMGET', P .. 'lease:' .. ARGV[1], 'fence', 'started')
if not lease[1] then return refuse('over') end
if lease[1] ~= ARGV[2] then return refuse('replayed') end
if lease[2] == '0' then return refuse('not_begun') end
local got = redis.call('HMGET', spent, 'calls', 'tokens', 'micros')
for i, name in ipairs({'calls', 'tokens', 'usd'}) do
  local most = tonumber(ARGV[i + 2])
  if most > 0 and tonumber(got[i] or 0) >= most then return refuse(name) end
end
redis.call('HINCRBY', spent, 'calls', 1)
redis.call('EXPIRE', spent, 86400)
return ''
"""

# ARGV: attempt, fence, tokens, micro-dollars, the call.
SETTLE = """
local P = 'infranoise:'
local tail = ARGV[1] .. ':' .. ARGV[2]
redis.call('HINCRBY', P .. 'spent:' .. tail, 'tokens', ARGV[3])
redis.call('HINCRBY', P .. 'spent:' .. tail, 'micros', ARGV[4])
redis.call('EXPIRE', P .. 'spent:' .. tail, 86400)
redis.call('RPUSH', P .. 'api:' .. tail, ARGV[5])
redis.call('EXPIRE', P .. 'api:' .. tail, 86400)
redis.call('XADD', P .. 'calls', '*', 'call', ARGV[5])
return 1
"""

# ARGV: attempt, fence, attempt, fence, … Returns 1 for each whose lease is that one still, else 0.
ALIVE = """
local out = {}
for i = 1, #ARGV, 2 do
  local fence = redis.call('HGET', 'infranoise:lease:' .. ARGV[i], 'fence')
  out[#out + 1] = fence == ARGV[i + 1] and 1 or 0
end
return out
"""
