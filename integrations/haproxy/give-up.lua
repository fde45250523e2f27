-- Tells that a question was given up: a line of the log at once, as HAProxy writes one at the end of each stream.
--
-- The stream goes on without the router and may last; what a late answer holds must not wait for its end. Of this level
-- nothing is printed beside.

local function give_up(txn)
  core.Debug("pm " .. txn:get_var("txn.pm.lease") .. " -1 -- - - - 0")
  txn:unset_var("txn.pm.lease")
end

core.register_action("pointsman_give_up", {"http-req"}, give_up, 0)
