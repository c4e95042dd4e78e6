-- Reads or changes records of one namespace. It knows nothing about what they mean. One run answers several calls,
-- one after another, each for itself and each all or nothing.
--
-- KEYS[1]   facts about the store: schema, id, version, high, behind, turns
-- KEYS[2]   processes and when they were last seen
-- KEYS[3..] records, each "<version> <expires or -> <value>", in the order of the calls
-- ARGV: 1 schema, 2 time for tests or "", 3 id of the store as the caller knows it or "", 4 turn and 5 time the
--       caller was told last, 6 highest version the caller knows, 7 name of the process when it is to be noted or
--       "", 8 how many calls. Then for each call: "get" and how many records; or "commit", how many records,
--       not_after or "", and four for each record: "put" | "delete" | "check", expected version or "", expires or
--       "-", value
-- Gives: outcome, time, turns, id, version, processes or "", and for each call outcome, version, list.
local SLACK, PATIENCE, KEEP, LONGEST, ALIVE = 60000, 600000, 3600000, 315360000000, 60000

local function text(number) return string.format('%.0f', number) end

local facts = redis.call('HMGET', KEYS[1], 'schema', 'id', 'version', 'high', 'behind', 'turns')
local schema, id = facts[1], facts[2]
if schema and tonumber(schema) > tonumber(ARGV[1]) then return {'newer', '0', '0', '', '0', schema, {}} end
if ARGV[3] ~= '' and id ~= ARGV[3] then return {'another', '0', '0', id or '', '0', '', {}} end

local clock = redis.call('TIME')
local micros = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local created = not id
if created then id = text(micros) end
if ARGV[2] ~= '' then micros = tonumber(ARGV[2]) * 1000 end
local now = math.floor(micros / 1000)

-- The time of the store: never back, unless the clock stays far behind.
local version, turns = tonumber(facts[3] or '0'), tonumber(facts[6] or '0')
local high = tonumber(facts[4] or ARGV[5])
local behind = facts[5] and facts[5] ~= '' and tonumber(facts[5]) or nil
if created then high = now end
if tonumber(ARGV[4]) == turns and not created then high = math.max(high, tonumber(ARGV[5])) end
local before, turned = behind, false
if now >= high - SLACK then
  now, behind = math.max(now, high), nil
elseif behind and now >= behind and now - behind >= PATIENCE then
  turns, behind, turned = turns + 1, nil, true
else
  if not behind or now < behind then behind = now end
  now = high
end

-- The record as it is kept, and its version; nothing if there is none. What cannot be read is shown, not hidden.
local function live(key)
  local kept = redis.pcall('GET', key)
  if not kept then return false, '' end
  if type(kept) ~= 'string' then return 'damaged', 'damaged' end
  local found, expires = string.match(kept, '^(%d+) (%S+) ')
  if not found then return kept, 'damaged' end
  if expires ~= '-' then
    local ends = tonumber(expires)
    if not ends then return kept, 'damaged' end
    if ends <= now then return false, '' end
  end
  return kept, found
end

local function write(key, at)
  if ARGV[at] == 'put' then
    local kept = text(version) .. ' ' .. ARGV[at + 2] .. ' ' .. ARGV[at + 3]
    -- The server's own expiry only collects garbage, long after the record counts as absent.
    local left = ARGV[at + 2] ~= '-' and math.max(tonumber(ARGV[at + 2]) - now, 0) + KEEP
    if left and left < LONGEST then
      redis.call('SET', key, kept, 'PX', text(left))
    else
      redis.call('SET', key, kept)
    end
  elseif ARGV[at] == 'delete' then
    redis.call('DEL', key)
  end
end

local news, answers = created or turned or before ~= behind, {}
local key, at = 2, 8
for call = 1, tonumber(ARGV[8]) do
  local get, count = ARGV[at + 1] == 'get', tonumber(ARGV[at + 2])
  local outcome, list = 'got', {}
  if get then
    at = at + 2
    for i = 1, count do list[i] = live(KEYS[key + i]) end
  else
    local limit = ARGV[at + 3]
    at = at + 3
    outcome = 'late'
    if limit == '' or now <= tonumber(limit) then
      for i = 1, count do
        local kept, found = live(KEYS[key + i])
        if found ~= ARGV[at + 4 * i - 2] then
          list[#list + 1] = text(i - 1)
          list[#list + 1] = kept
        end
      end
      outcome = 'conflict'
      if #list == 0 then
        -- Above every version ever given, even by a server that has lost its memory. Odd ones belong to
        -- processes that work without us.
        version = math.max(version, tonumber(ARGV[6]))
        if micros > version and micros < 9e15 then version = micros end
        version = version - version % 2 + 2
        for i = 1, count do write(KEYS[key + i], at + 4 * i - 3) end
        outcome, news = 'done', true
      end
    end
    at = at + 4 * count
  end
  key = key + count
  answers[call] = {outcome, text(version), list}
end

if news then
  redis.call('HSET', KEYS[1], 'schema', ARGV[1], 'id', id, 'version', text(version), 'high', text(now),
    'behind', behind and text(behind) or '', 'turns', text(turns))
end

local processes = ''
if ARGV[7] ~= '' then
  redis.pcall('ZADD', KEYS[2], text(now), ARGV[7])
  redis.pcall('ZREMRANGEBYSCORE', KEYS[2], '-inf', text(now - ALIVE))
  redis.pcall('PEXPIRE', KEYS[2], text(2 * ALIVE))
  local count = redis.pcall('ZCARD', KEYS[2])
  if type(count) == 'number' then processes = text(count) end
end

return {'ok', text(now), text(turns), id, text(version), processes, answers}
