-- Notes when the first token of a streamed answer came: txn.pm.ttft, milliseconds from the decision (txn.pm.asked) on.
--
-- HAProxy's own timers end with the head of an answer, which engines send before they compute. Only the first events of
-- an answer are read, and after its first token the filter is out of the way. Answers in one piece, compressed ones and
-- errors are not looked at.

-- Names of the events that engines send before they compute.
local TAKEN = {["response.created"] = true, ["response.in_progress"] = true, ["response.queued"] = true, ping = true}

-- So much of a line tells what its event is.
local LINE = 64

-- Whether the first token is in what a stream of events goes on with. The beginnings of lines are looked at, up to the
-- first event that had to be computed; most streams begin with it.
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
