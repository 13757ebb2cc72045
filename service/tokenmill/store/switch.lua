-- Last step of a full write: make a finished generation the head.
-- KEYS[1] <prefix>:{<cluster>:<group>:<topic>:<partition>}:head   hash: generation epoch offset fields meta [writing]
-- KEYS[2] <prefix>:{...}:<new generation>               hash: the fields of the snapshot
-- KEYS[3] <prefix>:{...}:<base generation>              hash: what the new one replaces
-- ARGV: base generation, base epoch, base offset ('' '' '' for no head, or one that can't be read), generation, epoch, offset, fields, meta, ttl ms
-- Returns {'ok'}, or the head as it is: {'changed', generation, epoch, offset, fields}, or {'torn'} if fields are missing.
local head = redis.call('HMGET', KEYS[1], 'generation', 'epoch', 'offset', 'fields')
local sound = head[1]
for place = 2, 4 do
  sound = sound and head[place] and string.match(head[place], '^%s*[+-]?%d[%d_]*%s*$')
end
if ARGV[1] == '' and not sound then  -- a reader ignores such a head, too
  head = {}
end
if (head[1] or '') ~= ARGV[1] or (head[2] or '') ~= ARGV[2] or (head[3] or '') ~= ARGV[3] then
  return {'changed', head[1], head[2], head[3], head[4]}
end
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[7]) then
  return {'torn'}
end
redis.call('HSET', KEYS[1], 'generation', ARGV[4], 'epoch', ARGV[5], 'offset', ARGV[6], 'fields', ARGV[7], 'meta', ARGV[8])
redis.call('HDEL', KEYS[1], 'writing')
redis.call('PEXPIRE', KEYS[1], ARGV[9])
redis.call('PEXPIRE', KEYS[2], ARGV[9])
redis.call('UNLINK', KEYS[3])
return {'ok'}
