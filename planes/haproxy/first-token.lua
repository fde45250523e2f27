-- Measures the time to the first token of a streamed response: txn.pm.ttft, in milliseconds since the decision
-- (txn.pm.asked).
--
-- HAProxy's own timers end with the head of a response, which engines send before they compute. The filter reads only the
-- first events of a response and unregisters after the first token. It ignores non-streamed responses, compressed ones
-- and errors.

-- Names of the events that engines send before they compute.
local TAKEN = {["response.created"] = true, ["response.in_progress"] = true, ["response.queued"] = true, ping = true}

-- Number of bytes at the start of a line that identify its event.
local LINE = 64

-- True if the next data of an event stream contains the first token. It examines the starts of lines up to the first
-- computed event; most streams begin with one.
local function first_token(seen, data)
  local text = seen.line .. data
  local from = 1
  while from <= #text do
    local feed = text:find("\n", from, true)
    if not feed and not seen.within and #text - from < LINE then
      break
    end
    if not seen.within then
      local line = text:sub(from, math.min((feed or #text + 1) - 1, from + LINE))
      if line:find("^\r?$") then
        seen.taken = false
      elseif not seen.taken and not (line:find("^:") or line:find("^id:") or line:find("^retry:")) then
        local name = line:match("^event:%s*([%w_.]+)") or line:match('^data:%s*{%s*"type"%s*:%s*"([%w_.]+)"')
        seen.taken = TAKEN[name or ""]
        if not seen.taken then
          return true
        end
      end
    end
    seen.within = not feed
    from = (feed or #text) + 1
  end
  seen.line = text:sub(from)
  return false
end

local FirstToken = {id = "pointsman first token", flags = filter.FLT_CFG_FL_HTX}
FirstToken.__index = FirstToken

function FirstToken:new()
  return setmetatable({line = ""}, FirstToken)
end

local function is_stream(message)
  local status = message:get_stline()
  if not status or tonumber(status.code) ~= 200 then
    return false
  end
  local headers = message:get_headers()
  local kind = headers["content-type"]
  return kind and kind[0]:lower():find("^text/event%-stream") and not headers["content-encoding"]
end

function FirstToken:http_headers(txn, message)
  if message:is_resp() and txn:get_var("txn.pm.asked") and is_stream(message) then
    filter.register_data_filter(self, message.channel)
  end
  return filter.CONTINUE
end

function FirstToken:http_payload(txn, message)
  if first_token(self, message:body() or "") then
    filter.unregister_data_filter(self, message.channel)
    txn:set_var("txn.pm.ttft", txn.f:date(0, "ms") - txn:get_var("txn.pm.asked"))
  end
end

core.register_filter("pointsman_first_token", FirstToken, function(class)
  return class
end)
