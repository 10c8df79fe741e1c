-- Sends prepared requests and checks every single answer, byte for byte.
--
-- REQUEST  file with one whole request; with CALLERS, {session}, {token} and {number} in it stand for one caller's
-- BODY     file with the right answer's body; with CALLERS, a {number} in it stands for one caller's
-- PARTIAL  if set, the right answer has more in it than BODY, which may differ each time
-- CALLERS  file of callers, one a line: session, token, number; each request is the next one's
-- OFFSET   which caller begins
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

local threads = {}
setup = function(thread) table.insert(threads, thread) end

local requests, numbers = {}, {}
local position, under_way = 0, {}
local body, before, after, partial
wrong = 0
first_wrong = ""

init = function()
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
  if status ~= 200 or not is_right(answer) then
    wrong = wrong + 1
    if first_wrong == "" then first_wrong = status .. " " .. string.sub(answer, 1, 200) end
  end
end

done = function(summary)
  local wrongs, example = 0, ""
  for _, thread in ipairs(threads) do
    wrongs = wrongs + thread:get("wrong")
    example = thread:get("first_wrong")
  end
  local errors = summary.errors
  local file = assert(io.open(assert(os.getenv("RESULT")), "wb"))
  file:write(string.format(
    "%d\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n%d\n%s",
    summary.requests, summary.duration, summary.bytes, wrongs,
    errors.status, errors.connect, errors.read, errors.write, errors.timeout,
    example
  ))
  file:close()
end
