package io.pointsman.compat.vllmrouter;

import static io.pointsman.compat.vllmrouter.Flag.flag;
import static io.pointsman.compat.vllmrouter.Translation.as;

import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.config.key.DisaggKeys;
import java.util.List;

/** Flags of vllm-router 0.1.17 for prefill and decode on separate workers. */
final class PdFlags {
  private PdFlags() {}

  static List<Flag> all() {
    return List.of(
        flag("--vllm-pd-disaggregation", "prefill/decode mode")
            .alias("--pd-disaggregation")
            .shape(Shape.SWITCH)
            .honoured((_, into) -> into.pd().turnOn()),
        flag("--prefill", "prefill engine, with the port of its bootstrap server or none")
            .shape(Shape.GROUPS)
            .honoured(
                "failed engines get no requests until they recover, with or without a bootstrap"
                    + " server",
                PdFlags::prefills),
        flag("--decode", "decode engine")
            .shape(Shape.REPEATED)
            .honoured((given, into) -> into.pd().decodes(given.values())),
        flag("--prefill-policy", "policy for prefill engines; unset means --policy")
            .honoured(as(DisaggKeys.PREFILL_POLICY)),
        flag("--decode-policy", "policy for decode engines; unset means --policy")
            .honoured(as(DisaggKeys.DECODE_POLICY)),
        flag("--vllm-discovery-address", "host:port where engines register by ZeroMQ")
            .honoured(
                "registered engines join those of --prefill and --decode, with the same probes,"
                    + " load counts and breakers",
                (given, into) -> into.pd().discovery(given.value())),
        flag("--kv-connector", "nixl, mooncake or moriio")
            .honoured(
                "unset means nixl, or p2p_nccl with --vllm-discovery-address; p2p_nccl, sglang,"
                    + " orchestrated and transparent are accepted too (docs/pd-protocols.md)",
                (given, into) -> into.pd().connector(given, into)));
  }

  /** Reads URLs, each optionally followed by a port or {@code none}. */
  private static void prefills(Given given, Translation into) {
    String url = null;
    for (String word : given.values()) {
      boolean port = word.matches("[0-9]+") || word.equals("none");
      if (port && url != null) {
        bootstrap(url, word, given, into);
        url = null;
      } else {
        if (url != null) {
          into.pd().prefill(url, PdMode.NO_PORT);
        }
        if (port) {
          into.problem(given, word, "a URL before it");
        }
        url = port ? null : word;
      }
    }
    if (url != null) {
      into.pd().prefill(url, PdMode.NO_PORT);
    }
  }

  private static void bootstrap(String url, String word, Given given, Translation into) {
    int port =
        word.equals("none") ? PdMode.NO_PORT : word.length() > 5 ? 65_536 : Integer.parseInt(word);
    if (port > 65_535 || word.equals("0")) {
      into.problem(given, url + " " + word, "a port, 1 to 65535, or none");
    } else {
      into.pd().prefill(url, port);
    }
  }
}
