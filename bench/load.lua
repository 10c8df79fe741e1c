-- Sends prepared requests and checks every single answer, byte for byte.
--
-- REQUEST  file with one whole request; with CALLERS, {session}, {token} and {number} in it stand for one caller's
-- BODY     file with the right answer's body; with CALLERS, a {number} in it stands for one caller's
-- PARTIAL  if set, the right answer has more in it than BODY, which may differ each time
-- CALLERS  file of callers, one a line: session, token, number; each request is the next one's
-- OFFSET   which caller begins
-- TURNS    which turn of a cycle is ours, of how many, and the microseconds of a turn and of the pause after each; if not
--          set, all of the time is ours
-- RESULT   file for the counts

local function read(name)
  local file = assert(io.open(assert(os.getenv(name), name), "rb"))
  local content = file:read("*a")
  file:close()
  return content
end

local function fill(text, name, value)
  local first, last = string.find(text, "{" .. name .. "}", 1, true)
  while first do
    text = string.sub(text, 1, first - 1) .. value .. string.sub(text, last + 1)
    first, last = string.find(text, "{" .. name .. "}", first + #value, true)
  end
  return text
end

local thread
setup = function(only) thread = only end

local requests, numbers = {}, {}
local position, under_way = 0, {}
local body, before, after, partial
wrong = 0
first_wrong = ""

-- Of each of our turns that ended: its cycle, what was sent and answered within it, and its microseconds.
ended_turns = ""
-- The first request is not sent: wrk only looks at it.
local sent, answered, left_over, within = -1, 0, 0, 0
local wait_for_turn = function() end

local function take_turns(number, all, length, pause)
  local ffi = require("ffi")
  ffi.cdef([[
    typedef struct { long seconds, micros; } moment;
    int gettimeofday(moment *now, void *zone);
    int usleep(unsigned int micros);
  ]])
  local now, began = ffi.new("moment"), nil
  local cycle, start = all * (length + pause), number * (length + pause)

  local function clock()
    ffi.C.gettimeofday(now, nil)
    local time = tonumber(now.seconds) * 1000000 + tonumber(now.micros)
    return time, (time - start) % cycle
  end

  wait_for_turn = function()
    local time, into = clock()
    if into < length then return end
    if began then
      local cycles = math.floor((began - start) / cycle)
      ended_turns = ended_turns .. string.format("%d:%d:%d ", cycles, within, time - began)
    end
    repeat
      ffi.C.usleep(cycle - into)
      began, into = clock()
    until into < length
    left_over, within = sent - answered, 0
  end
end

init = function()
  local turns = os.getenv("TURNS")
  if turns then
    local number, all, length, pause = string.match(turns, "^(%d+) (%d+) (%d+) (%d+)$")
    take_turns(tonumber(number), tonumber(all), tonumber(length), tonumber(pause))
  end
  body = read("BODY")
  partial = os.getenv("PARTIAL")
  local template = read("REQUEST")
  if not os.getenv("CALLERS") then
    requests[1] = template
    return
  end
  local first, last = string.find(body, "{number}", 1, true)
  if first then
    before, after = string.sub(body, 1, first - 1), string.sub(body, last + 1)
  end
  for session, token, number in string.gmatch(read("CALLERS"), "(%w+) (%w+) (%d+)\n") do
    local one = fill(fill(template, "session", session), "token", token)
    table.insert(requests, fill(one, "number", number))
    table.insert(numbers, number)
  end
  position = tonumber(os.getenv("OFFSET")) % #requests
end

request = function()
  wait_for_turn()
  sent = sent + 1
  if #requests == 1 then return requests[1] end
  position = position % #requests + 1
  local number = numbers[position]
  under_way[number] = (under_way[number] or 0) + 1
  return requests[position]
end

-- An answer to one of many callers must be whole, and that of a caller who is waiting for one.
local function is_right(answer)
  if partial then return string.find(answer, body, 1, true) ~= nil end
  if not before then return answer == body end
  local number = string.sub(answer, #before + 1, #answer - #after)
  if answer ~= before .. number .. after or not under_way[number] then return false end
  under_way[number] = under_way[number] > 1 and under_way[number] - 1 or nil
  return true
end

response = function(status, _, answer)
  answered = answered + 1
  if left_over > 0 then left_over = left_over - 1 else within = within + 1 end
  if status ~= 200 or not is_right(answer) then
    wrong = wrong + 1
    if first_wrong == "" then first_wrong = status .. " " .. string.sub(answer, 1, 200) end
  end
end

done = function(summary)
  local errors = summary.errors
  local file = assert(io.open(assert(os.getenv("RESULT")), "wb"))
  file:write(string.format(
    "%d\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n%s\n%s",
    summary.requests, summary.duration, summary.bytes, thread:get("wrong"),
    errors.status, errors.connect, errors.read, errors.write, errors.timeout,
    thread:get("ended_turns"), thread:get("first_wrong")
  ))
  file:close()
end
