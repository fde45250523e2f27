package io.pointsman.compat.productionstack;

import static io.pointsman.compat.productionstack.StackFlags.proposed;
import static io.pointsman.compat.productionstack.StackFlags.stack;

import io.pointsman.compat.vllmrouter.Flag;
import io.pointsman.compat.vllmrouter.Given;
import io.pointsman.compat.vllmrouter.Translation;
import io.pointsman.config.key.DisaggKeys;
import java.util.List;

/** Flags of the production stack's router for prefill and decode on separate workers. */
final class StackPdFlags {
  static final String STRATEGY = "--load-balancing-strategy";
  static final String CONNECTOR = "--disagg-connector-type";
  static final String DECODER_HOST = "--decoder-host";
  static final String DECODER_INIT = "--decoder-init-port";
  static final String DECODER_ALLOC = "--decoder-alloc-port";
  static final String REGISTRY = "--decoder-registry";
  static final String PEER_HOST = "--nixl-peer-host";
  static final String PEER_INIT = "--nixl-peer-init-port";
  static final String PEER_ALLOC = "--nixl-peer-alloc-port";
  static final String PROXY_HOST = "--nixl-proxy-host";
  static final String PROXY_PORT = "--nixl-proxy-port";

  static final String STRATEGY_STANDARD = "round_robin";
  static final String CONNECTOR_STANDARD = "nixl";
  static final String PEER_INIT_STANDARD = "7300";
  static final String PEER_ALLOC_STANDARD = "7400";
  static final String PROXY_PORT_STANDARD = "7500";

  private StackPdFlags() {}

  /** The original splits every request at 0 and below. */
  private static void threshold(Given given, Translation into) {
    long tokens = into.whole(given, Integer.MIN_VALUE, Integer.MAX_VALUE);
    into.values().set(DisaggKeys.THRESHOLD, (int) Math.max(0, tokens));
  }

  static List<Flag> all(Wishes wishes) {
    return List.of(
        stack(StackFlags.PREFILL_LABELS, "labels of prefill engines, separated by commas")
            .honoured(
                "labels must match exactly; no effect unless the logic is a disaggregated one",
                wishes.keep()),
        stack(StackFlags.DECODE_LABELS, "labels of decode engines, separated by commas")
            .honoured("as --prefill-model-labels", wishes.keep()),
        proposed(
                "--routing-threshold",
                "minimum estimated input tokens for using a prefill and a decode engine")
            .standard("0")
            .honoured(
                "same estimate: a list counts by its length; a request with exactly this number is"
                    + " split; negative means 0; several prompts are split with"
                    + " disaggregated_prefill only, because transfer parameters name the blocks"
                    + " of one prompt",
                StackPdFlags::threshold),
        proposed(STRATEGY, "round_robin or least_loaded, for both stages")
            .standard(STRATEGY_STANDARD)
            .honoured(
                "least_loaded compares requests in flight, and those of others that engines report"
                    + " every 2 s; refused without a disaggregated logic",
                wishes.keep(STRATEGY_STANDARD, "least_loaded")),
        proposed(CONNECTOR, "nixl or lmcache, for disaggregated_prefill_orchestrated")
            .standard(CONNECTOR_STANDARD)
            .honoured(wishes.keep(CONNECTOR_STANDARD, "lmcache")),
        proposed(DECODER_HOST, "lmcache: host where decode engines receive blocks")
            .honoured(wishes.keep()),
        proposed(
                DECODER_INIT,
                "lmcache: init ports of decode engines, one per rank, separated by commas")
            .honoured(wishes.keep()),
        proposed(
                DECODER_ALLOC,
                "lmcache: alloc ports of decode engines, one per rank, separated by commas")
            .honoured(wishes.keep()),
        proposed(REGISTRY, "lmcache: host and ports for each decode engine by its URL, as JSON")
            .honoured(
                "a URL of another engine is refused; the three flags above apply to engines that"
                    + " are not listed",
                wishes.keep()),
        proposed(PEER_HOST, "lmcache: host where the decode engine receives blocks")
            .honoured("for disaggregated_prefill, which then uses lmcache", wishes.keep()),
        proposed(PEER_INIT, "lmcache: init port of the decode engine")
            .standard(PEER_INIT_STANDARD)
            .honoured(wishes.keep()),
        proposed(PEER_ALLOC, "lmcache: alloc port of the decode engine")
            .standard(PEER_ALLOC_STANDARD)
            .honoured(wishes.keep()),
        proposed(PROXY_HOST, "lmcache: host that receives notifications")
            .honoured("unset means --host", wishes.keep()),
        proposed(PROXY_PORT, "lmcache: port that receives notifications")
            .standard(PROXY_PORT_STANDARD)
            .honoured(wishes.keep()),
        proposed("--nixl-finished-req-ttl", "seconds for which notifications are kept")
            .standard("120")
            .idle("a notification without a waiting request is dropped at once"),
        proposed("--nixl-cleanup-interval", "seconds between cleanups of notifications")
            .standard("60")
            .idle("notifications are not stored"));
  }
}
