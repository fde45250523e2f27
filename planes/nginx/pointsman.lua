-- Asks Pointsman for a request's worker, sends the request there, and reports its result.
--
-- decide (access phase) asks the router, which creates a lease. balance sends the request to the chosen worker; without a
-- response, to the one with the fewest requests in flight. ended (log phase) settles the lease. Leases of running streams
-- are renewed.
-- A refusal of the router goes to the client unchanged. The client's key is part of the question, and the router checks
-- it. The setting api_key is for nginx's own calls to the router. The setting engine_api_key is for requests to engines
-- that contain no key of the client.

local balancer = require("ngx.balancer")
local json = require("cjson.safe")

local pointsman = {}
local settings
local in_flight = ngx.shared.pointsman

local HEAD_OF_BODY = 131072
-- Clients may put the model after the messages. In longer bodies this number of bytes at the end is searched for it.
local END_OF_BODY = 65536
local LOOK_SECONDS = 0.25
local MOST_TOLD = 4096
-- Maximum number of concurrent calls to the router for leases.
local TELLERS = 8
-- A timer without a call for this time plus six timeouts counts as dropped, because nginx drops excess timers.
local DROPPED_SECONDS = 10
local POOL = {pool = "pointsman", pool_size = 64}
-- The tables up to NOT_FORWARDED are also in HAProxy's script. Each script is one file in the directory of its proxy, and
-- the Lua versions differ (LuaJIT here, 5.3 there). Machines with only one of the proxies would have to update a shared
-- file too. Each proxy reads responses with its own sockets.
local REFUSALS = {
  [400] = true,
  [401] = true,
  [403] = true,
  [404] = true,
  [413] = true,
  [429] = true,
  [431] = true,
  [503] = true,
  [529] = true,
}
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

local RANK = "x-data-parallel-rank"
-- Maximum number of routers and proxies that a request may have passed.
local MOST_ROUTERS = 8

local function problem(message, code)
  return '{"error":{"message":"' .. message .. '","type":"server_error","param":null,"code":"' .. code .. '"}}'
end

local NO_WORKER = problem("no worker is available at the moment", "none_available")
local NO_ROUTER = problem("the router does not answer", "router_unavailable")
local LOOP = problem(
  "the request has passed too many routers: a worker is a router that sends requests back", "routing_loop")
local BROKEN = problem("no worker has answered", "upstream_error")

-- State of this process: workers except prefill workers, leases of running streams with their renewal times, and pending
-- messages to the router.
local workers = {}
-- Key of the workers in the dictionary that all processes share. No address equals it.
local KNOWN = "workers"
local live = {}
local ends = {first = 1, last = 0}
local renewals = {first = 1, last = 0}
-- Start time of each sending timer's last call; nil for an inactive timer.
local telling = {}
-- Causes already logged by this process. Their number is small: statuses and a few words.
local complained = {}

local function complain(cause)
  if not complained[cause] then
    complained[cause] = true
    ngx.log(ngx.WARN, "pointsman: a request to the router failed: ", cause, "; logged once")
  end
end

-- Checks the key of a setting; nil if it is empty. No message contains the key.
local function key(name, given)
  if given == "" then
    return nil
  elseif given and (#given > 4096 or given:find("[^!-~]")) then
    error("pointsman: " .. name .. " (expected: up to 4096 characters of ASCII without spaces)")
  end
  return given
end

function pointsman.setup(given)
  settings = given
  settings.api_key = key("api_key", given.api_key)
  settings.engine_api_key = key("engine_api_key", given.engine_api_key)
end

-- Reads a key from a file that contains nothing else.
function pointsman.key_of(path)
  local file = assert(io.open(path, "rb"))
  local key = file:read(8192) or ""
  file:close()
  return key:match("^%s*(.-)%s*$")
end

-- Reads a response: status, headers by lower-case name, body. Without one: nil and, if no byte arrived, the reason.
local function receive(socket)
  local line, why, part = socket:receive("*l")
  local status = line and tonumber(line:match("^HTTP/1%.%d (%d%d%d)"))
  if not status then
    return nil, part == "" and why or nil
  end
  local headers = {}
  while true do
    line = socket:receive("*l")
    if not line then
      return nil
    elseif line == "" then
      break
    end
    local name, value = line:match("^([^:]+):%s*(.-)%s*$")
    if name then
      headers[name:lower()] = value
    end
  end
  local length = tonumber(headers["content-length"])
  local body = length == 0 and "" or length and socket:receive(length)
  return body and status, headers, body
end

-- Sends a request and reads the response as receive does. Without a response the second value is nil if the router was
-- not reached. Otherwise it is true if the router had closed the kept connection before it read the request.
local function exchange(text)
  local socket = ngx.socket.tcp()
  socket:settimeouts(settings.timeout_ms, settings.timeout_ms, settings.timeout_ms)
  if not socket:connect(settings.router_host, settings.router_port, POOL) then
    return nil
  end
  local kept = (socket:getreusedtimes() or 0) > 0
  if settings.router_tls and not kept then
    local secured, problem = socket:sslhandshake(nil, settings.router_tls, true)
    if not secured then
      complain("TLS: " .. tostring(problem))
      socket:close()
      return nil
    end
  end
  local sent, why = socket:send(text)
  if not sent then
    return nil, kept and why ~= "timeout"
  end
  local status, headers, body = receive(socket)
  if not status then
    socket:close()
    -- A request that the router may have processed is not repeated.
    return nil, kept and headers ~= nil and headers ~= "timeout"
  elseif headers["connection"] == "close" then
    socket:close()
  else
    socket:setkeepalive(30000)
  end
  return status, headers, body
end

-- Calls the router. Without a response the status is nil; the second value is also nil if the router was not reached. A
-- kept connection that proves to be closed is replaced once.
local function call(method, path, lines, body)
  lines[#lines + 1] = "host: " .. settings.router_host
  lines[#lines + 1] = "content-length: " .. #body
  local text = method .. " " .. path .. " HTTP/1.1\r\n" .. table.concat(lines, "\r\n") .. "\r\n\r\n" .. body
  local status, headers, answer = exchange(text)
  if not status and headers == true then
    status, headers, answer = exchange(text)
  end
  return status, headers, answer
end

-- A call by nginx itself, with api_key; same results as call.
local function own_call(method, path, lines, body)
  if settings.api_key then
    lines[#lines + 1] = "authorization: Bearer " .. settings.api_key
  end
  return call(method, path, lines, body)
end

local function tell_one(each)
  local path = "/v1/leases/" .. each.lease .. "/" .. each.what
  local status = own_call("POST", path, {"content-type: application/json"}, each.body)
  if status and status >= 300 and status ~= 404 and status ~= 409 then
    complain("status " .. status .. " to " .. each.what)
  end
end

local function take(list)
  local each = list[list.first]
  if each then
    list[list.first] = nil
    list.first = list.first + 1
  end
  return each
end

-- Next message; renewals come first. A late renewal removes a running stream from the load; a late settlement only keeps an
-- ended one in it.
local function next_word()
  return take(renewals) or take(ends)
end

local function tell_all(premature, teller)
  local each = not premature and next_word()
  while each do
    telling[teller] = ngx.now()
    local good, why = pcall(tell_one, each)
    if not good then
      complain("error in " .. each.what .. ": " .. tostring(why))
    end
    each = next_word()
  end
  telling[teller] = nil
end

-- Starts one more sending timer if fewer than TELLERS are active.
local function begin_telling()
  local now = ngx.now()
  for teller = 1, TELLERS do
    local since = telling[teller]
    if not since or now - since > DROPPED_SECONDS + settings.timeout_ms / 1000 * 6 then
      telling[teller] = ngx.timer.at(0, tell_all, teller) and now or nil
      return
    end
  end
end

-- Queues a message to the router. If the queue is full, the message is dropped; its lease then expires.
local function tell_router(lease, what, body)
  local list = what == "renew" and renewals or ends
  if list.last - list.first < MOST_TOLD then
    list.last = list.last + 1
    list[list.last] = {lease = lease, what = what, body = body}
    begin_telling()
  end
end

-- First HEAD_OF_BODY bytes of the client's body. For a longer body also its last END_OF_BODY bytes, otherwise nil.
local function body_of_client()
  ngx.req.read_body()
  local body = ngx.req.get_body_data()
  if body then
    return body:sub(1, HEAD_OF_BODY), #body > HEAD_OF_BODY and body:sub(-END_OF_BODY) or nil
  end
  local name = ngx.req.get_body_file()
  local file = name and io.open(name, "rb")
  if not file then
    return "", nil
  end
  body = file:read(HEAD_OF_BODY) or ""
  local size = file:seek("end")
  local tail
  if size > #body then
    file:seek("set", math.max(0, size - END_OF_BODY))
    tail = file:read(END_OF_BODY) or ""
  end
  file:close()
  return body, tail
end

-- Model in the end of a JSON object; nil if there is none. The scan goes backwards from the last byte, which is outside of
-- texts. Quotes therefore pair up, and brackets give the depth. Models within messages are deeper, or text.
local function model_at_end(tail)
  local depth, i = 0, #tail
  local later, last -- last two texts at the depth of the object's fields; colon: true if a colon is between them
  local colon = false
  while i > 0 do
    local c = tail:sub(i, i)
    if c == '"' then
      local close = i
      repeat
        i = i - 1
        while i > 0 and tail:sub(i, i) ~= '"' do
          i = i - 1
        end
        local first = i
        while first > 1 and tail:sub(first - 1, first - 1) == "\\" do
          first = first - 1
        end
        local escaped = (i - first) % 2 == 1
      until i == 0 or not escaped
      if depth == 1 and i > 0 then
        later, last = last, tail:sub(i, close)
        if colon and last == '"model"' then
          local value = later and json.decode("[" .. later .. "]")
          return value and value[1]
        end
        colon = false
      end
    elseif c == "}" or c == "]" then
      depth, last, colon = depth + 1, nil, false
    elseif c == "{" or c == "[" then
      depth, last, colon = depth - 1, nil, false
    elseif c == ":" and depth == 1 then
      colon = true
    elseif c == "," and depth == 1 then
      last, colon = nil, false
    end
    i = i - 1
  end
end

-- Beginnings of headers that only routers may set. A client could name any address.
local OF_ROUTERS = {
  "x-pointsman-",
  "x-serve-router-",
  "x-serve-request-",
  "x-body-truncated",
  "x-data-parallel-host-port",
  "x-encoder-host",
  "x-forwarded-",
  "x-gateway-destination-endpoint",
  "x-kv-",
  "x-prefiller-",
  "x-real-ip",
  "forwarded",
  "http2-settings",
  RANK,
}

local function of_routers(name)
  for _, beginning in ipairs(OF_ROUTERS) do
    if name:sub(1, #beginning) == beginning then
      return true
    end
  end
  return false
end

-- Removes them from the request.
local function strip(headers)
  for name in pairs(headers) do
    if of_routers(name) then
      ngx.req.clear_header(name)
      headers[name] = nil
    end
  end
end

local function question(headers, tail, lease)
  local lines = {
    "x-pointsman-lease-ttl: " .. settings.ttl_ms,
    "x-pointsman-lease: " .. lease,
    "x-pointsman-key: " .. (settings.api_key or ""),
    "x-serve-request-method: " .. ngx.req.get_method(),
    "x-serve-request-path: " .. ngx.var.request_uri:match("^[^?]*"),
  }
  if tail then
    lines[#lines + 1] = "x-body-truncated: " .. HEAD_OF_BODY .. "/" .. (headers["content-length"] or "")
    -- The router uses it if the first part of the body contains no model.
    local model = not headers["serve_multiplexed_model_id"] and model_at_end(tail)
    if type(model) == "string" and not model:find("[^ -~]") then
      lines[#lines + 1] = "serve_multiplexed_model_id: " .. model
    end
  end
  for name, values in pairs(headers) do
    if not NOT_FORWARDED[name] then
      for _, value in ipairs(type(values) == "table" and values or {values}) do
        lines[#lines + 1] = name .. ": " .. tostring(value)
      end
    end
  end
  return lines
end

-- Types of errors in Anthropic's API; others are invalid_request_error below 500, else api_error.
local TYPES = {
  [401] = "authentication_error",
  [403] = "permission_error",
  [404] = "not_found_error",
  [408] = "timeout_error",
  [413] = "request_too_large",
  [429] = "rate_limit_error",
  [503] = "overloaded_error",
  [504] = "timeout_error",
  [529] = "overloaded_error",
}

-- An error in OpenAI's form, in the form of the API that the client calls.
local function in_form(status, body)
  -- Engines decode the path.
  local path = ngx.unescape_uri(ngx.var.request_uri:match("^[^?]*")):gsub("//+", "/")
  local answer = (path .. "/"):find("^/v1/messages/") and json.decode(body)
  local problem = type(answer) == "table" and answer.error
  local message = type(problem) == "table" and problem.message
  if type(message) ~= "string" then
    return body
  end
  local kind = TYPES[status] or status < 500 and "invalid_request_error" or "api_error"
  return '{"type":"error","error":{"type":"' .. kind .. '","message":' .. json.encode(message) .. "}}"
end

local function refuse(status, wait, given)
  local body = in_form(status, given)
  ngx.ctx.pointsman.refused = true
  ngx.status = status
  ngx.header["content-type"] = "application/json"
  ngx.header["retry-after"] = wait
  ngx.header["content-length"] = #body
  ngx.print(body)
  return ngx.exit(ngx.HTTP_OK)
end

-- True if a worker is preferable. Health comes before load, because a failed worker has nothing in flight.
local function before(worker, load, other, least)
  if worker.healthy ~= other.healthy then
    return worker.healthy
  end
  return load < least
end

-- Worker with the fewest requests in flight in the router's last list, except one address. Without a healthy worker it
-- returns an unhealthy one, which may have recovered.
local function least_busy(except)
  local best, least
  if #workers == 0 then
    -- This process has no list yet, but another one may have.
    workers = json.decode(in_flight:get(KNOWN) or "[]")
  end
  local count = #workers
  local first = count > 0 and math.random(count) or 1
  for i = 0, count - 1 do
    local worker = workers[(first + i - 1) % count + 1]
    local load = in_flight:get(worker.address) or 0
    if worker.address ~= except and (not best or before(worker, load, best, least)) then
      best, least = worker, load
    end
  end
  return best
end

-- Reads the list of workers from the router; defined below.
local look

-- Balances without the router's choice.
local function by_itself()
  if not least_busy() then
    -- No process has a list yet, or the list was empty.
    look()
  end
  if not least_busy() then
    return refuse(503, "1", NO_WORKER)
  end
end

local function decide(headers)
  ngx.ctx.pointsman = {}
  if ngx.req.get_method() ~= "POST" and not settings.api_key then
    return by_itself()
  end
  local body, tail = body_of_client()
  -- nginx creates the lease id, so it can settle the lease after any failure.
  local lease = ngx.var.request_id
  local status, answer_headers, answer = call("POST", "/internal/route", question(headers, tail, lease), body)
  if status ~= 200 then
    complain(status and "status " .. status or "no answer")
  end
  if REFUSALS[status or 0] then
    -- The router knows no healthy worker, for example after its start. Any worker may serve the request.
    if answer_headers["x-pointsman-unplaced"] then
      return by_itself()
    end
    return refuse(status, answer_headers["retry-after"], answer)
  end
  local decided = status == 200 and json.decode(answer)
  if not decided or not decided.replica_id then
    if status == 200 or status == 409 or (status or 0) >= 500 or not status and answer_headers ~= nil then
      -- Gives the id up: this releases an existing lease and prevents a later one. After 409 (lease id known) or an
      -- intermediary's 5xx a lease may exist.
      tell_router(lease, "settle", '{"outcome":"ignored"}')
    end
    -- With api_key the request is refused, because the client's key is unchecked.
    return settings.api_key and refuse(503, "1", NO_ROUTER) or by_itself()
  end
  ngx.ctx.pointsman = {
    worker = decided.replica_id,
    -- The balancer needs IPv6 addresses in brackets.
    host = decided.host:find(":", 1, true) and "[" .. decided.host .. "]" or decided.host,
    port = decided.port,
    lease = decided.lease,
    asked = ngx.now(),
  }
  if decided.lease then
    -- The router may grant a shorter lease than requested. A third of it leaves two more attempts.
    local pause = math.min(settings.ttl_ms, decided.expires_in_ms or settings.ttl_ms) / 3000
    live[decided.lease] = {pause = pause, due = ngx.now() + pause, answering = ""}
  end
  for name, value in pairs(decided.request_headers or {}) do
    ngx.req.set_header(name, value)
    ngx.ctx.pointsman.ranked = ngx.ctx.pointsman.ranked or name:lower() == RANK
  end
end

-- The routers and proxies that sent the request before, and their number.
local function passed(headers)
  local value = headers["x-pointsman-via"] or ""
  local text = type(value) == "table" and table.concat(value, ", ") or value
  local _, commas = text:gsub(",", "")
  return text, text == "" and 0 or commas + 1
end

function pointsman.decide()
  local headers = ngx.req.get_headers(0)
  setmetatable(headers, nil)
  local via, routers = passed(headers)
  strip(headers)
  if routers > MOST_ROUTERS then
    ngx.ctx.pointsman = {}
    ngx.header["x-should-retry"] = "false"
    return refuse(508, nil, LOOP)
  end
  decide(headers)
  -- Each proxy and router adds its name, so a circle ends.
  ngx.req.set_header("x-pointsman-via", via == "" and "nginx" or "nginx, " .. via)
  -- After the decision, because the question contains only headers of the client.
  if settings.engine_api_key and not headers["authorization"] then
    ngx.req.set_header("Authorization", "Bearer " .. settings.engine_api_key)
  end
end

local function count_off(state)
  if state.at then
    in_flight:incr(state.at, -1, 0)
    state.at = nil
  end
end

function pointsman.balance()
  local state = ngx.ctx.pointsman
  local failed = state.at
  count_off(state)
  local peer = not failed and state.host and state or least_busy(failed)
  if not peer then
    return ngx.exit(503)
  end
  if failed and state.ranked then
    -- The rank belongs to the failed worker. Without a rank an engine chooses one itself.
    ngx.req.clear_header(RANK)
    local good, why = balancer.recreate_request()
    if not good then
      ngx.log(ngx.ERR, "cannot rebuild the request: ", why)
      return ngx.exit(502)
    end
  end
  local address = peer.host .. ":" .. peer.port
  if not failed and least_busy(address) then
    balancer.set_more_tries(1)
  end
  local good, why = balancer.set_current_peer(peer.host, peer.port)
  if not good then
    ngx.log(ngx.ERR, "worker ", peer.host, ": ", why)
    return ngx.exit(502)
  end
  state.at = address
  state.pinned = peer == state
  in_flight:incr(state.at, 1, 0)
end

-- Last entry of an nginx variable with one entry per attempted worker; nil if there is none.
local function last(entries)
  local entry = (entries or ""):match("([^%s,:]+)%s*$")
  return entry ~= "-" and entry or nil
end

-- True if the last attempted worker refused the connection (502) or did not accept it in time (504).
local function not_connected(status)
  return (status == 502 or status == 504) and not last(ngx.var.upstream_connect_time)
end

function pointsman.report()
  local state = ngx.ctx.pointsman
  if not state or state.refused then
    return
  end
  if ngx.status >= 500 and not last(ngx.var.upstream_header_time) then
    -- No worker has answered, so nginx would send its own error page.
    state.page = BROKEN
    if not_connected(ngx.status) then
      ngx.status = 503
      state.page = NO_WORKER
      ngx.header["retry-after"] = "1"
    end
    state.page = in_form(ngx.status, state.page)
    ngx.header["content-type"] = "application/json"
    ngx.header["content-length"] = #state.page
  elseif state.pinned then
    ngx.header["x-pointsman-worker"] = state.worker
  end
  if state.pinned and ngx.status < 400 and live[state.lease] then
    live[state.lease].answering = ',"answering":true'
  end
  -- The first token is visible only in uncompressed streams.
  if state.lease and ngx.status == 200 and not ngx.header["content-encoding"] then
    local stream = (ngx.header["content-type"] or ""):lower():find("^text/event%-stream")
    state.awaits = stream and {line = ""}
  end
end

-- The nginx.conf of a former version calls this.
function pointsman.tell()
  error("pointsman.tell: former name (expected: pointsman.report, as in the present nginx.conf)", 0)
end

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

-- Body filter: finds the first token, and replaces nginx's own error page by an error of the API that the client calls.
function pointsman.body()
  local state = ngx.ctx.pointsman
  if state and state.awaits and first_token(state.awaits, ngx.arg[1]) then
    state.awaits = nil
    state.ttft = math.max(0, math.floor((ngx.now() - state.asked) * 1000))
  end
  if state and state.page then
    ngx.arg[1] = state.page
    ngx.arg[2] = true
    state.page = ""
  end
end

local function outcome(state)
  local status = tonumber((ngx.var.upstream_status or ""):match("(%d+)%s*$"))
  if state.pinned == false or not_connected(status) then
    return '{"outcome":"failed","failure":"connect"}'
  elseif ngx.status == 499 and not status then
    return '{"outcome":"left"}'
  elseif ngx.status == 499 or not status or status == 429 or status == 503 or status == 508 or status == 529 then
    return '{"outcome":"ignored"}'
  elseif status == 504 then
    return '{"outcome":"failed","failure":"timeout"}'
  elseif status >= 500 then
    return '{"outcome":"failed"}'
  elseif status >= 400 then
    return '{"outcome":"refused"}'
  end
  -- The client or the worker may have cut the response; nginx does not distinguish the two.
  return ngx.var.request_completion == "OK" and '{"outcome":"succeeded"}' or '{"outcome":"ignored"}'
end

function pointsman.ended()
  local state = ngx.ctx.pointsman
  if not state then
    return
  end
  count_off(state)
  if state.lease then
    live[state.lease] = nil
    local ending = outcome(state)
    if state.ttft then
      ending = ending:sub(1, -2) .. ',"ttft_ms":' .. state.ttft .. "}"
    end
    tell_router(state.lease, "settle", ending)
  end
end

-- Host and port of a worker's URL. IPv6 addresses keep their brackets, because the balancer needs them.
local function host_and_port(url)
  local host, rest = url:match("^http://(%[[%x:.]+%])(.*)$")
  if not host then
    host, rest = url:match("^http://([^:/@]+)(.*)$")
  end
  local port = rest and (rest:match("^:(%d+)") or rest:match("^/?$") and 80)
  return port and host, tonumber(port)
end

function look(premature)
  if premature then
    return
  end
  local status, _, body = own_call("GET", "/workers", {}, "")
  if status ~= 200 then
    complain((status and "status " .. status or "no answer") .. " to GET /workers")
  end
  local answer = status == 200 and json.decode(body)
  if not answer or not answer.workers or #answer.workers == 0 then
    return -- after its start the router may not know its workers yet
  end
  local found = {}
  for _, worker in ipairs(answer.workers) do
    local host, port = host_and_port(worker.url)
    if host and worker.worker_type ~= "prefill" and not worker.draining and not worker.asleep then
      local address = host .. ":" .. port
      found[#found + 1] = {host = host, port = port, address = address, healthy = worker.is_healthy == true}
    end
  end
  workers = found
  in_flight:set(KNOWN, json.encode(found))
end

local function renew_due()
  local now = ngx.now()
  for lease, renewal in pairs(live) do
    if renewal.due <= now then
      renewal.due = now + renewal.pause
      tell_router(lease, "renew", '{"ttl_ms":' .. settings.ttl_ms .. renewal.answering .. "}")
    end
  end
end

-- Renews leases until the last stream has ended. After a reload, an ending process starts no further timers, but running
-- ones may continue.
local function outlast()
  while next(live) do
    renew_due()
    ngx.sleep(LOOK_SECONDS)
  end
end

local function renew(premature)
  if not premature then
    renew_due()
  elseif next(live) then
    ngx.timer.at(0, outlast)
  end
end

function pointsman.start()
  math.randomseed(ngx.worker.pid())
  ngx.timer.at(0, look)
  ngx.timer.every(LOOK_SECONDS, look)
  ngx.timer.every(math.min(LOOK_SECONDS, settings.ttl_ms / 3000), renew)
end

return pointsman
