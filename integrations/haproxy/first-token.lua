-- Notes when the first bytes of a streamed answer came: txn.pm.ttft, milliseconds from the decision (txn.pm.asked) on.
--
-- HAProxy's own timers end with the head of an answer, which engines send before they compute. Nothing of an answer is
-- read, and after its first bytes the filter is out of the way. Answers in one piece, compressed ones and errors are not
-- looked at.

local FirstToken = {id = "pointsman first token", flags = filter.FLT_CFG_FL_HTX}
FirstToken.__index = FirstToken

function FirstToken:new()
  return setmetatable({}, FirstToken)
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
  if message:input() > 0 then
    filter.unregister_data_filter(self, message.channel)
    txn:set_var("txn.pm.ttft", txn.f:date(0, "ms") - txn:get_var("txn.pm.asked"))
  end
end

core.register_filter("pointsman_first_token", FirstToken, function(class)
  return class
end)
