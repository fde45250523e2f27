-- Reports an abandoned question at once, by a log line in the format of HAProxy's line at the end of each stream.
--
-- The stream continues without the router and may last long. A late response may contain a lease, which must not wait for
-- the end of the stream. HAProxy does not print messages of this level elsewhere.

local function give_up(txn)
  core.Debug("pm " .. txn:get_var("txn.pm.lease") .. " -1 -- - - - 0")
  txn:unset_var("txn.pm.lease")
end

core.register_action("pointsman_give_up", {"http-req"}, give_up, 0)
