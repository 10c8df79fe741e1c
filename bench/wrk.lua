-- wrk script: send prepared requests and verify every response byte for byte.
--
-- REQUEST    file with one complete request; with COOKIES, its {session}, {token} and {number} are replaced per tenant
-- BODY       file with the expected body; with COOKIES, {number} in it is the number of the tenant
-- SUBSTRING  if set, a response only has to contain BODY
-- COOKIES    file with one tenant per line: session, token, number; each request uses the next line
-- OFFSET     number of the first line to use
-- SLICES     index of this process's time slice, slices per cycle, microseconds of a slice, microseconds of the pause
--            after it; if unset, requests are sent all the time
-- RESULT     file for the counts

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
local position, pending = 0, {}
local body, before, after, substring
wrong = 0
first_wrong = ""

-- Per finished slice: its cycle, the requests sent and answered within it, its microseconds.
finished_slices = ""
-- wrk parses the first request without sending it.
local sent, completed, from_earlier, in_slice = -1, 0, 0, 0
local wait_for_slice = function() end

local function use_slices(number, all, length, pause)
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

  wait_for_slice = function()
    local time, into = clock()
    if into < length then return end
    if began then
      local cycles = math.floor((began - start) / cycle)
      finished_slices = finished_slices .. string.format("%d:%d:%d ", cycles, in_slice, time - began)
    end
    repeat
      ffi.C.usleep(cycle - into)
      began, into = clock()
    until into < length
    from_earlier, in_slice = sent - completed, 0
  end
end

init = function()
  local slices = os.getenv("SLICES")
  if slices then
    local number, all, length, pause = string.match(slices, "^(%d+) (%d+) (%d+) (%d+)$")
    use_slices(tonumber(number), tonumber(all), tonumber(length), tonumber(pause))
  end
  body = read("BODY")
  substring = os.getenv("SUBSTRING")
  local template = read("REQUEST")
  if not os.getenv("COOKIES") then
    requests[1] = template
    return
  end
  local first, last = string.find(body, "{number}", 1, true)
  if first then
    before, after = string.sub(body, 1, first - 1), string.sub(body, last + 1)
  end
  for session, token, number in string.gmatch(read("COOKIES"), "(%w+) (%w+) (%d+)\n") do
    local one = fill(fill(template, "session", session), "token", token)
    table.insert(requests, fill(one, "number", number))
    table.insert(numbers, number)
  end
  position = tonumber(os.getenv("OFFSET")) % #requests
end

request = function()
  wait_for_slice()
  sent = sent + 1
  if #requests == 1 then return requests[1] end
  position = position % #requests + 1
  local number = numbers[position]
  pending[number] = (pending[number] or 0) + 1
  return requests[position]
end

-- With many tenants, a body must match the pattern and belong to a tenant with a pending request.
local function is_expected(received)
  if substring then return string.find(received, body, 1, true) ~= nil end
  if not before then return received == body end
  local number = string.sub(received, #before + 1, #received - #after)
  if received ~= before .. number .. after or not pending[number] then return false end
  pending[number] = pending[number] > 1 and pending[number] - 1 or nil
  return true
end

response = function(status, _, received)
  completed = completed + 1
  if from_earlier > 0 then from_earlier = from_earlier - 1 else in_slice = in_slice + 1 end
  if status ~= 200 or not is_expected(received) then
    wrong = wrong + 1
    if first_wrong == "" then first_wrong = status .. " " .. string.sub(received, 1, 200) end
  end
end

done = function(summary)
  local errors = summary.errors
  local file = assert(io.open(assert(os.getenv("RESULT")), "wb"))
  file:write(string.format(
    "%d\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n%s\n%s",
    summary.requests, summary.duration, summary.bytes, thread:get("wrong"),
    errors.status, errors.connect, errors.read, errors.write, errors.timeout,
    thread:get("finished_slices"), thread:get("first_wrong")
  ))
  file:close()
end
