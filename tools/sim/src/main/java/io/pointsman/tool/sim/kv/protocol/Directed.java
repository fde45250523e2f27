package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.kv.Fields;
import io.pointsman.tool.sim.kv.KvSelf;
import org.jspecify.annotations.Nullable;

/** The common part of vLLM's connectors: {@code kv_transfer_params} and their direction. */
final class Directed {
  private Directed() {}

  /** The fields of {@code kv_transfer_params}; null if the request has none. */
  static @Nullable Fields params(KvRequest request) {
    Fields body = request.fields();
    return body.has("kv_transfer_params") ? body.object("kv_transfer_params") : null;
  }

  /** Returns true if KV is produced here; false if it is fetched. */
  static boolean produces(Fields params, KvSelf self) {
    JsonNode decode = params.at("do_remote_decode");
    if (decode.isBoolean() && decode.booleanValue()) {
      if (!self.options().role().prefills()) {
        throw params.wrong("do_remote_decode", "false on a decode engine");
      }
      params.is("do_remote_prefill", false);
      return true;
    }
    if (!self.options().role().decodes()) {
      throw params.wrong("do_remote_decode", "true on a prefill engine");
    }
    params.is("do_remote_prefill", true);
    params.is("do_remote_decode", false);
    return false;
  }
}
