package io.pointsman.pd.plan;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.request.splice.RawJson;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A handover as data, for an external proxy that builds the decode request itself. It is the decode
 * request with marks in place of data from the prefill response. It is computed by calling the
 * {@link Handover} with each kind of response that differs.
 *
 * @param usual the decode request if the prefill response describes its blocks
 * @param loopback the same if the {@code remote_host} in that description is a loopback address
 * @param without the decode request if the response has no {@code kv_transfer_params}
 */
public record HandoverForm(PdStep usual, PdStep loopback, PdStep without) {
  /** Mark for the whole prefill response. Compared by identity: no other value is the mark. */
  public static final RawJson ANSWER = RawJson.of("\"the prefill's answer\"");

  /** Mark for the {@code kv_transfer_params} of that response. Compared by identity. */
  public static final RawJson PARAMS = RawJson.of("\"the answer's kv_transfer_params\"");

  /** Computes the form of a plan's handover to {@code decode}. */
  public static HandoverForm of(PdPlan.Sequential plan, Worker decode) {
    RawJson localhost = RawJson.string("localhost");
    return new HandoverForm(
        step(plan, decode, PARAMS, Map.of()),
        step(plan, decode, PARAMS, Map.of("remote_host", localhost)),
        step(plan, decode, null, Map.of()));
  }

  private static PdStep step(
      PdPlan.Sequential plan, Worker decode, @Nullable RawJson params, Map<String, RawJson> named) {
    PrefillReply reply = new PrefillReply(ANSWER, params, named, null, null, -1);
    return switch (plan.handover().to(decode, reply)) {
      case Continuation.Decode(PdStep step, _) -> step;
      case Continuation.Complete _ ->
          throw new IllegalStateException("complete without a reason for that in the answer");
    };
  }
}
