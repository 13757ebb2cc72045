-- One page of a delta: applied only on top of exactly the write it builds on.
-- KEYS[1] <prefix>:{<cluster>:<group>:<topic>:<partition>}:head   hash: generation epoch offset fields meta [writing]
-- KEYS[2] <prefix>:{...}:<generation>                   hash: the fields of the snapshot
-- ARGV: base generation, base epoch, base offset, base fields, writing: token of this write, 'first' or '', 'last' or '',
--       new epoch, new offset, meta (last page only), ttl ms, number of removed fields,
--       then the removed fields, then field, value, field, value, ...
-- Between its first and last page the head carries `writing`: readers then treat the snapshot as missing. Its number of
-- fields is that of the page before, so a hash that Redis evicts between two pages is noticed.
-- Returns {'ok', number of fields} or the head as it is: {'changed', generation, epoch, offset, fields}.
local head = redis.call('HMGET', KEYS[1], 'generation', 'epoch', 'offset', 'fields', 'writing')
local expected = false
if ARGV[6] == '' then expected = ARGV[5] end
local same = head[1] == ARGV[1] and head[2] == ARGV[2] and head[3] == ARGV[3] and head[5] == expected
if ARGV[6] == 'first' then
  same = same and head[4] == ARGV[4]
end
if not same or redis.call('HLEN', KEYS[2]) ~= tonumber(head[4]) then
  return {'changed', head[1], head[2], head[3], head[4]}
end
local pairs_at = 13 + tonumber(ARGV[12])
if pairs_at > 13 then
  redis.call('HDEL', KEYS[2], unpack(ARGV, 13, pairs_at - 1))
end
if #ARGV >= pairs_at then
  redis.call('HSET', KEYS[2], unpack(ARGV, pairs_at, #ARGV))
end
local fields = redis.call('HLEN', KEYS[2])
if ARGV[7] == 'last' then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[8], 'offset', ARGV[9], 'fields', fields, 'meta', ARGV[10])
  redis.call('HDEL', KEYS[1], 'writing')
  redis.call('PEXPIRE', KEYS[1], ARGV[11])
  redis.call('PEXPIRE', KEYS[2], ARGV[11])
else
  redis.call('HSET', KEYS[1], 'writing', ARGV[5], 'fields', fields)
end
return {'ok', fields}
