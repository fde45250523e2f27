package io.pointsman.app.compat.stack;

import static io.pointsman.app.compat.Translation.as;
import static io.pointsman.app.compat.stack.StackFlags.proposed;
import static io.pointsman.app.compat.stack.StackFlags.stack;

import io.pointsman.app.compat.Flag;
import io.pointsman.app.config.key.DisaggKeys;
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

  static List<Flag> all(Wishes wishes) {
    return List.of(
        stack(StackFlags.PREFILL_LABELS, "labels of prefill engines, with commas")
            .honoured(
                "a label is one of them or it is not, no parts of words; without effect unless the"
                    + " logic is a disaggregated one",
                wishes.keep()),
        stack(StackFlags.DECODE_LABELS, "labels of decode engines, with commas")
            .honoured("as above", wishes.keep()),
        proposed("--routing-threshold", "estimated input tokens from which on a request is split")
            .standard("0")
            .honoured(
                "the same estimate; requests of exactly so many are split",
                as(DisaggKeys.THRESHOLD)),
        proposed(STRATEGY, "round_robin or least_loaded, of both stages")
            .standard(STRATEGY_STANDARD)
            .honoured(
                "least_loaded counts requests in flight, no engine is scraped; refused without a"
                    + " disaggregated logic",
                wishes.keep(STRATEGY_STANDARD, "least_loaded")),
        proposed(CONNECTOR, "nixl or lmcache, of disaggregated_prefill_orchestrated")
            .standard(CONNECTOR_STANDARD)
            .honoured(wishes.keep(CONNECTOR_STANDARD, "lmcache")),
        proposed(DECODER_HOST, "lmcache: where decode engines take blocks").honoured(wishes.keep()),
        proposed(DECODER_INIT, "their init ports, one for each rank, with commas")
            .honoured(wishes.keep()),
        proposed(DECODER_ALLOC, "their alloc ports").honoured(wishes.keep()),
        proposed(REGISTRY, "the same for each decode engine by its URL, as JSON")
            .honoured(
                "a URL that is no decode engine is refused; the three flags above serve engines"
                    + " that it does not name",
                wishes.keep()),
        proposed(PEER_HOST, "lmcache: where the decode engine takes blocks")
            .honoured("with disaggregated_prefill, which then is lmcache", wishes.keep()),
        proposed(PEER_INIT, "its init port").standard(PEER_INIT_STANDARD).honoured(wishes.keep()),
        proposed(PEER_ALLOC, "its alloc port")
            .standard(PEER_ALLOC_STANDARD)
            .honoured(wishes.keep()),
        proposed(PROXY_HOST, "lmcache: where notifications are heard")
            .honoured("unset means --host", wishes.keep()),
        proposed(PROXY_PORT, "its port").standard(PROXY_PORT_STANDARD).honoured(wishes.keep()),
        proposed("--nixl-finished-req-ttl", "how long notifications are kept")
            .standard("120")
            .idle("one that nobody waits for is dropped at once"),
        proposed("--nixl-cleanup-interval", "seconds between sweeps of them")
            .standard("60")
            .idle("nothing is kept that would have to be swept"));
  }
}
