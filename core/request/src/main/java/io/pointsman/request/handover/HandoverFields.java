package io.pointsman.request.handover;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.request.json.JsonText;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Members of bodies that control a hand-over. Engines trust them: they connect to the given address
 * and wait for blocks. Only the router may set them. The id of a response is one of them, because
 * it may contain the addresses of engines.
 */
public final class HandoverFields {
  /** vLLM's parameters of a hand-over. It accepts them in two other members as well. */
  public static final String PARAMETERS = "kv_transfer_params";

  /** Beginnings of the addresses of engines in a request id, which vLLM's connectors read. */
  public static final String PREFILL_ADDRESS = "___prefill_addr_";

  public static final String DECODE_ADDRESS = "___decode_addr_";

  private static final List<List<String>> PATHS =
      List.of(
          List.of(PARAMETERS),
          List.of("vllm_xargs", PARAMETERS),
          List.of("sampling_params", "extra_args", PARAMETERS),
          List.of("ec_transfer_params"),
          List.of("disagg_prefill_resp"),
          List.of("disagg_prefill_dp_rank"),
          List.of("bootstrap_host"),
          List.of("bootstrap_port"),
          List.of("bootstrap_room"),
          List.of("bootstrap_pair_key"),
          List.of("request_id"));

  /** Names at the top of a body. */
  static final Set<String> TOP =
      PATHS.stream()
          .filter(path -> path.size() == 1)
          .map(List::getLast)
          .collect(Collectors.toSet());

  /** Greatest number of names in a path. */
  static final int DEEPEST = PATHS.stream().mapToInt(List::size).max().orElseThrow();

  private static final long[] TOP_HASHES =
      TOP.stream().mapToLong(JsonText::hash).sorted().toArray();

  /** Hashes of the names of objects that may contain the parameters. */
  private static final long[] OUTER_HASHES =
      PATHS.stream()
          .filter(path -> path.size() > 1)
          .mapToLong(path -> JsonText.hash(path.getFirst()))
          .sorted()
          .toArray();

  private static final byte[] PARAMETERS_BYTES = PARAMETERS.getBytes(US_ASCII);

  private HandoverFields() {}

  /** The members, each by the names from the top of the body. */
  public static List<List<String>> paths() {
    return PATHS;
  }

  /** True if a request id contains the address of an engine. */
  public static boolean addresses(String requestId) {
    return requestId.contains(PREFILL_ADDRESS) || requestId.contains(DECODE_ADDRESS);
  }

  /** True if the key with this hash, at the top of a body, is such a member. */
  public static boolean top(long keyHash) {
    return Arrays.binarySearch(TOP_HASHES, keyHash) >= 0;
  }

  /** True if the key with this hash, at the top of a body, may contain such a member. */
  public static boolean outer(long keyHash) {
    return Arrays.binarySearch(OUTER_HASHES, keyHash) >= 0;
  }

  /** True if the value of an {@link #outer} key may contain such a member. */
  public static boolean mayLieIn(byte[] bytes, int from, int to) {
    int length = PARAMETERS_BYTES.length;
    for (int i = from; i < to; i++) {
      if (bytes[i] == '\\') {
        return true; // the name may be written with escapes
      }
      if (bytes[i] == PARAMETERS_BYTES[0]
          && i + length <= to
          && Arrays.equals(bytes, i, i + length, PARAMETERS_BYTES, 0, length)) {
        return true;
      }
    }
    return false;
  }
}
