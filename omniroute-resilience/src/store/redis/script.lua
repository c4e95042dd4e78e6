-- Reads or changes records of one namespace, all or nothing. It knows nothing about what they mean.
--
-- KEYS[1]   facts about the store: schema, id, version, high, behind, turns
-- KEYS[2..] records, each "<version> <expires or -> <value>"
-- ARGV: 1 "get" or "commit", 2 schema, 3 time for tests or "", 4 id of the store as the caller knows it or "",
--       5 turn and 6 time the caller was told last, 7 highest version the caller knows, 8 not_after or "",
--       then for a commit four for each record: "put" | "delete" | "check", expected version or "", expires or
--       "-", value
-- Gives: outcome, time, turns, id, version, list.
local SLACK, PATIENCE, KEEP, LONGEST = 60000, 600000, 3600000, 315360000000
local get = ARGV[1] == 'get'

local function text(number) return string.format('%.0f', number) end

local facts = redis.call('HMGET', KEYS[1], 'schema', 'id', 'version', 'high', 'behind', 'turns')
local schema, id = facts[1], facts[2]
if schema and tonumber(schema) > tonumber(ARGV[2]) then return {'newer', '0', '0', '', '0', {schema}} end
if ARGV[4] ~= '' and id ~= ARGV[4] then return {'another', '0', '0', id or '', '0', {}} end

local clock = redis.call('TIME')
local micros = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local created = not id
if created then id = text(micros) end
if ARGV[3] ~= '' then micros = tonumber(ARGV[3]) * 1000 end
local now = math.floor(micros / 1000)

-- The time of the store: never back, unless the clock stays far behind.
local version, turns = tonumber(facts[3] or '0'), tonumber(facts[6] or '0')
local high = tonumber(facts[4] or ARGV[6])
local behind = facts[5] and facts[5] ~= '' and tonumber(facts[5]) or nil
if created then high = now end
if tonumber(ARGV[5]) == turns and not created then high = math.max(high, tonumber(ARGV[6])) end
local before, turned = behind, false
if now >= high - SLACK then
  now, behind = math.max(now, high), nil
elseif behind and now >= behind and now - behind >= PATIENCE then
  turns, behind, turned = turns + 1, nil, true
else
  if not behind or now < behind then behind = now end
  now = high
end

local function remember()
  redis.call('HSET', KEYS[1], 'schema', ARGV[2], 'id', id, 'version', text(version), 'high', text(now),
    'behind', behind and text(behind) or '', 'turns', text(turns))
end

local function answer(outcome, list)
  return {outcome, text(now), text(turns), id, text(version), list}
end

-- The record as it is kept, and its version; nothing if there is none.
local function live(key)
  local kept = redis.call('GET', key)
  if not kept then return false, '' end
  local found, expires = string.match(kept, '^(%d+) (%S+) ')
  if found and expires ~= '-' and tonumber(expires) <= now then return false, '' end
  return kept, found or 'damaged'
end

if created or turned or before ~= behind then remember() end

if get then
  local list = {}
  for i = 2, #KEYS do list[i - 1] = live(KEYS[i]) end
  return answer('got', list)
end

if ARGV[8] ~= '' and now > tonumber(ARGV[8]) then return answer('late', {}) end
local conflicts = {}
for i = 2, #KEYS do
  local kept, found = live(KEYS[i])
  if found ~= ARGV[4 * i + 2] then
    conflicts[#conflicts + 1] = text(i - 2)
    conflicts[#conflicts + 1] = kept
  end
end
if #conflicts > 0 then return answer('conflict', conflicts) end

-- Above every version ever given, even by a server that has lost its memory. Odd ones belong to processes
-- that work without us.
version = math.max(version, tonumber(ARGV[7]))
if micros > version and micros < 9e15 then version = micros end
version = version - version % 2 + 2
for i = 2, #KEYS do
  local at = 4 * i + 1
  if ARGV[at] == 'put' then
    local kept = text(version) .. ' ' .. ARGV[at + 2] .. ' ' .. ARGV[at + 3]
    -- The server's own expiry only collects garbage, long after the record counts as absent.
    local left = ARGV[at + 2] ~= '-' and math.max(tonumber(ARGV[at + 2]) - now, 0) + KEEP
    if left and left < LONGEST then
      redis.call('SET', KEYS[i], kept, 'PX', text(left))
    else
      redis.call('SET', KEYS[i], kept)
    end
  elseif ARGV[at] == 'delete' then
    redis.call('DEL', KEYS[i])
  end
end
remember()
return answer('done', {})
