import { ALMOST } from "./bucket.ts";
import { type Script, script } from "./script.ts";

/** Scripts on ceilings. A ceiling is a hash of levels (`r`, `t`, true at `a`; with `:tenant` behind for a floor) and a set of slots. */
export interface CeilingScripts {
  /**
   * Takes of every ceiling or of none. KEYS: hash and set of each. ARGV: holder, lease ms, tenant, tokens; then of each ceiling
   * the sizes of request floor, shared requests, token floor, shared tokens (empty: no such rate), slots, and 1 if the tenant
   * has a floor. Answers 1 or 0, then of each ceiling its four levels and its running calls as they were before.
   */
  reserve: Script;
  /**
   * Ends draws. KEYS: hash and set of each. ARGV of each: holder, tenant (empty: no floor), the four sizes, and what goes back
   * to the request floor and shared, extra requests, back to the token floor and shared, extra tokens.
   */
  settle: Script;
  /**
   * Makes a bucket no fuller than somebody knows it to be. KEYS: hash of each. ARGV of each: the field's ending, sizes of
   * requests and tokens, the most that can be there, and what was taken meanwhile elsewhere (empty: not known).
   */
  lower: Script;
  /** Holds slots for calls that run already. KEYS: set of each. ARGV of each: holder, lease ms. */
  hold: Script;
}

/** A full minute, and one of debts: a bucket that nobody touched for so long is full. */
const TTL_MS = 130_000;

/** bucket.ts in Lua. */
const BUCKET = `
local now = NOW
local max, min = math.max, math.min
local function refilled(level, at, cap)
  level = tonumber(level or nil)
  if not level then return cap end
  return min(cap, level + max(0, now - (tonumber(at or nil) or now)) * cap / 60000)
end
local function read(key, tenant, rf, rs, tf, ts)
  local got
  if tenant == '' then got = redis.call('HMGET', key, 'r', 't', 'a')
  else got = redis.call('HMGET', key, 'r', 't', 'a', 'r:' .. tenant, 't:' .. tenant, 'a:' .. tenant) end
  return rs and { f = refilled(got[4], got[6], rf), s = refilled(got[1], got[3], rs) },
    ts and { f = refilled(got[5], got[6], tf), s = refilled(got[2], got[3], ts) }
end
local function text(n) return string.format('%.17g', n) end
local function write(key, tenant, r, t)
  local put = { 'a', text(now) }
  local function add(field, pair, part)
    if pair then put[#put + 1] = field; put[#put + 1] = text(pair[part]) end
  end
  add('r', r, 's'); add('t', t, 's')
  if tenant ~= '' then
    put[#put + 1] = 'a:' .. tenant; put[#put + 1] = text(now)
    add('r:' .. tenant, r, 'f'); add('t:' .. tenant, t, 'f')
  end
  redis.call('HSET', key, unpack(put))
  redis.call('PEXPIRE', key, ${TTL_MS})
end
local function hold(set, holder, lease)
  redis.call('ZADD', set, now + lease, holder)
  if redis.call('PTTL', set) < lease then redis.call('PEXPIRE', set, lease) end
end
`;

const RESERVE = `${BUCKET}
local holder, lease, tenant, tokens = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local all, answer, steps = true, { 1 }, {}
for i = 1, #KEYS / 2 do
  local at = 4 + (i - 1) * 6
  local rf, rs, tf, ts = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local slots = tonumber(ARGV[at + 5])
  local own = ARGV[at + 6] == '1' and tenant or ''
  local key, set = KEYS[2 * i - 1], KEYS[2 * i]
  local r, t = read(key, own, rf, rs, tf, ts)
  local running = 0
  if slots then
    redis.call('ZREMRANGEBYSCORE', set, '-inf', now)
    running = redis.call('ZCARD', set)
    if running >= slots then all = false end
  end
  answer[i + 1] = table.concat({ r and text(r.f) or '-', r and text(r.s) or '-', t and text(t.f) or '-',
    t and text(t.s) or '-', running }, ' ')
  local function draw(pair, caps, wanted)
    if not pair then return end
    local amount = min(wanted, caps)
    if caps <= 0 or pair.f + max(0, pair.s) < amount - ${ALMOST} then all = false return end
    local own = min(amount, max(0, pair.f))
    pair.f, pair.s = pair.f - own, pair.s - (amount - own)
  end
  draw(r, r and rf + rs, 1)
  draw(t, t and tf + ts, tokens)
  steps[i] = { key, set, own, r, t, slots }
end
if not all then answer[1] = 0 return answer end
for _, step in ipairs(steps) do
  if step[4] or step[5] then write(step[1], step[3], step[4], step[5]) end
  if step[6] then hold(step[2], holder, lease) end
end
return answer`;

const SETTLE = `${BUCKET}
local function settled(pair, cf, cs, bf, bs, extra)
  if not pair then return end
  pair.f, pair.s = min(cf, pair.f + bf), min(cs, pair.s + bs)
  if extra <= 0 then return end
  local ownThere = min(extra, max(0, pair.f))
  local sharedThere = min(extra - ownThere, max(0, pair.s))
  local owed = extra - ownThere - sharedThere
  local floor = pair.f - ownThere
  local ownDebt = min(owed, max(0, floor + cf))
  pair.f, pair.s = floor - ownDebt, max(-cs, pair.s - sharedThere - (owed - ownDebt))
end
for i = 1, #KEYS / 2 do
  local at = (i - 1) * 12
  local n = {}
  for j = 3, 12 do n[j] = tonumber(ARGV[at + j]) end
  local key, tenant = KEYS[2 * i - 1], ARGV[at + 2]
  local change = n[7] ~= 0 or n[8] ~= 0 or n[9] ~= 0 or n[10] ~= 0 or n[11] ~= 0 or n[12] ~= 0
  if change then
    local r, t = read(key, tenant, n[3], n[4], n[5], n[6])
    settled(r, n[3], n[4], n[7], n[8], n[9])
    settled(t, n[5], n[6], n[10], n[11], n[12])
    write(key, tenant, r, t)
  end
  redis.call('ZREM', KEYS[2 * i], ARGV[at + 1])
end
return 1`;

const LOWER = `
local now = NOW
for i = 1, #KEYS do
  local at = (i - 1) * 7
  local ending = ARGV[at + 1]
  local put = { 'a' .. ending, string.format('%.17g', now) }
  local got = redis.call('HMGET', KEYS[i], 'r' .. ending, 't' .. ending, 'a' .. ending)
  for j = 1, 2 do
    local cap, most, taken = tonumber(ARGV[at + 1 + j]), tonumber(ARGV[at + 3 + j]), tonumber(ARGV[at + 5 + j])
    if cap then
      local level = tonumber(got[j] or nil) or cap
      level = math.min(cap, level + math.max(0, now - (tonumber(got[3] or nil) or now)) * cap / 60000)
      level = math.max(-cap, math.min(level, most or cap) - (taken or 0))
      put[#put + 1] = (j == 1 and 'r' or 't') .. ending
      put[#put + 1] = string.format('%.17g', level)
    end
  end
  redis.call('HSET', KEYS[i], unpack(put))
  redis.call('PEXPIRE', KEYS[i], ${TTL_MS})
end
return 1`;

const HOLD = `
local now = NOW
for i = 1, #KEYS do
  local lease = tonumber(ARGV[2 * i])
  redis.call('ZADD', KEYS[i], now + lease, ARGV[2 * i - 1])
  if redis.call('PTTL', KEYS[i]) < lease then redis.call('PEXPIRE', KEYS[i], lease) end
end
return 1`;

/** Builds them; `time`: another expression of Lua than the server's time. */
export function ceilingScripts(time?: string): CeilingScripts {
  return {
    reserve: script(RESERVE, time),
    settle: script(SETTLE, time),
    lower: script(LOWER, time),
    hold: script(HOLD, time),
  };
}
