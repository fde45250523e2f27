package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.Task.After;
import io.pointsman.tool.sim.kv.protocol.Task.Before;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** No transfer data in requests: prefill fills a common store, and decode finds KV by content. */
record ContentProtocol() implements KvProtocol {
  @Override
  public Task read(KvRequest request, KvSelf self) {
    request.fields().isNull("kv_transfer_params");
    return switch (self.options().role()) {
      case PREFILL -> {
        PrefillForm.check(request);
        yield new Task.Produce(
            List.of(request.internalId()),
            request.idField(),
            0,
            false,
            new Before.Nothing(),
            new After.Store());
      }
      case DECODE -> {
        if (self.options().direct() && request.several()) {
          yield new Task.Direct();
        }
        request.single();
        yield new Task.Found();
      }
      case BOTH -> new Task.Direct();
    };
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens) {
    return null;
  }
}
