-- Asks Pointsman for a request's worker, before HAProxy chooses a server.
--
-- It sets txn.pm.worker to the worker's id. txn.pm.lease is an id that HAProxy creates for the lease on this worker. The
-- lease ends with the stream, which HAProxy's log line reports. The script unsets the id if certainly no lease exists.
--
-- Without a response in time it sets txn.pm.fallback, and HAProxy balances by itself. It does not ask again for
-- SILENCE_SECONDS.
-- A refusal of the router (unknown model, all workers busy) goes to the client unchanged. If the router has no worker to
-- name, HAProxy uses its own health checks.
-- The client's key is part of the question, and the router checks it. If GUARDED is true, no request passes without the
-- router's decision.

local ROUTER_HOST = "@ROUTER_HOST@"
local ROUTER_PORT = @ROUTER_PORT@
local TIMEOUT_SECONDS = @TIMEOUT_SECONDS@
local TTL_MS = "@TTL_MS@"
local BODY_WAIT = @BODY_WAIT@
local GUARDED = "@GUARDED@" == "yes"

-- The tables up to REFUSALS are also in nginx's script. Each script is one file in the directory of its proxy, and the Lua
-- versions differ (5.3 here, LuaJIT there). Machines with only one of the proxies would have to update a shared file too.
local NOT_FORWARDED = {
  ["connection"] = true,
  ["content-length"] = true,
  ["expect"] = true,
  ["host"] = true,
  ["keep-alive"] = true,
  ["te"] = true,
  ["transfer-encoding"] = true,
  ["upgrade"] = true,
}

local REFUSALS = {[400] = true, [401] = true, [404] = true, [413] = true, [429] = true, [503] = true}

local SILENCE_SECONDS = 0.5
local silent_until = 0

local function now()
  local time = core.now()
  return time.sec + time.usec / 1000000
end

local function question(txn, body)
  local lines = {
    "POST /internal/route HTTP/1.0",
    "host: " .. ROUTER_HOST,
    "connection: close",
    "content-length: " .. #body,
    "x-pointsman-hold: " .. TTL_MS,
    "x-pointsman-lease: " .. txn:get_var("txn.pm.lease"),
    "x-serve-request-method: " .. txn.f:method(),
    "x-serve-request-path: " .. (txn.f:path() or ""), -- OPTIONS * has none
  }
  for name, values in pairs(txn.http:req_get_headers()) do
    if not NOT_FORWARDED[name] then
      for _, value in pairs(values) do
        lines[#lines + 1] = name .. ": " .. value
      end
    end
  end
  local full = tonumber(txn.f:req_fhdr("content-length") or "")
  -- A body of unknown length may be longer than the part that HAProxy waits for.
  if full and full > #body or not full and #body >= BODY_WAIT then
    lines[#lines + 1] = "x-body-truncated: " .. #body .. "/" .. (full or "")
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n" .. body
end

-- Asks the router. Returns status, head and body of the response; nil and a reason if there is none.
local function ask(text)
  local socket = core.tcp()
  socket:settimeout(TIMEOUT_SECONDS)
  if not socket:connect(ROUTER_HOST, ROUTER_PORT) then
    socket:close()
    return nil, "unreachable"
  end
  if not socket:send(text) then
    socket:close()
    return nil, "unreachable"
  end
  local answer, problem = socket:receive("*a")
  socket:close()
  if not answer then
    return nil, problem or "timeout"
  end
  local status = tonumber(answer:match("^HTTP/1%.%d (%d%d%d)"))
  local head, body = answer:match("^(.-)\r\n\r\n(.*)$")
  if not status or not body then
    return nil, "malformed"
  end
  return status, head, body
end

local NO_ROUTER = '{"error":{"message":"the router does not answer","type":"server_error","param":null,"code":"router_unavailable"}}'

-- Causes already logged by this thread. Their number is small: statuses and a few words.
local told = {}

local function tell(cause)
  if not told[cause] then
    told[cause] = true
    core.Warning("pointsman: " .. cause)
  end
end

local function refuse(txn, status, wait, body)
  local reply = txn:reply({status = status})
  reply:add_header("content-type", "application/json")
  if wait then
    reply:add_header("retry-after", wait)
  end
  reply:set_body(body)
  txn:done(reply)
end

local function fall_back(txn, reason)
  txn:set_var("txn.pm.fallback", reason)
  if GUARDED then
    refuse(txn, 503, "1", NO_ROUTER)
  end
end

local function decide(txn)
  if now() < silent_until then
    txn:unset_var("txn.pm.lease")
    return fall_back(txn, "silent")
  end
  if silent_until > 0 then
    -- Only one request asks; the others do not wait for it.
    silent_until = now() + TIMEOUT_SECONDS
  end
  local status, head, body = ask(question(txn, txn.f:req_body() or ""))
  if not status then
    silent_until = now() + SILENCE_SECONDS
    tell(head)
    return fall_back(txn, head)
  end
  silent_until = 0
  if status ~= 200 then
    -- After 409 (lease id known) or an intermediary's 5xx a lease may exist. The id stays set, so the lease is given up.
    if REFUSALS[status] or status ~= 409 and status < 500 then
      txn:unset_var("txn.pm.lease")
    end
    tell("status " .. status)
  end
  if REFUSALS[status] then
    -- The router knows no healthy worker, for example after its start. Any worker may serve the request.
    if head:lower():find("\r\nx-pointsman-unplaced:", 1, true) then
      txn:set_var("txn.pm.unplaced", 1)
      return txn:set_var("txn.pm.fallback", "status " .. status)
    end
    return refuse(txn, status, head:lower():match("\r\nretry%-after: *(%d+)"), body)
  end
  local worker = body:match('"replica_id"%s*:%s*"([^"]+)"')
  if status ~= 200 or not worker then
    return fall_back(txn, "status " .. status)
  end
  txn:set_var("txn.pm.worker", worker)
  local lease = body:match('"lease"%s*:%s*"([^"]+)"')
  if lease then
    txn:set_var("txn.pm.lease", lease)
  end
  local headers = body:match('"request_headers"%s*:%s*{(.-)}')
  for name, value in (headers or ""):gmatch('"([^"]+)"%s*:%s*"([^"]*)"') do
    txn.http:req_set_header(name, value)
  end
end

core.register_action("pointsman_decide", {"http-req"}, decide, 0)
