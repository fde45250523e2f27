package io.pointsman.engine.disagg.plan;

import io.pointsman.engine.fleet.Worker;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A hand-over as data, for a plane that makes the decode request itself: the request with marks
 * where something of the prefill's answer stands. Found by asking the {@link Handover} for the
 * answers that make a difference.
 *
 * @param usual the decode request where prefill has described what it hands over
 * @param loopback the same where the {@code remote_host} in that description means the engine's own
 *     machine
 * @param without the same where the answer has no {@code kv_transfer_params}
 */
public record HandoverForm(Leg usual, Leg loopback, Leg without) {
  /** Stands for the whole answer of prefill. By identity: no other value is the mark. */
  public static final RawJson ANSWER = RawJson.of("\"the prefill's answer\"");

  /** Stands for the {@code kv_transfer_params} of that answer. By identity. */
  public static final RawJson PARAMS = RawJson.of("\"the answer's kv_transfer_params\"");

  /** The form of a plan's hand-over to {@code decode}. */
  public static HandoverForm of(PdPlan.Sequential plan, Worker decode) {
    RawJson localhost = RawJson.string("localhost");
    return new HandoverForm(
        leg(plan, decode, PARAMS, Map.of()),
        leg(plan, decode, PARAMS, Map.of("remote_host", localhost)),
        leg(plan, decode, null, Map.of()));
  }

  private static Leg leg(
      PdPlan.Sequential plan, Worker decode, @Nullable RawJson params, Map<String, RawJson> named) {
    PrefillReply reply = new PrefillReply(ANSWER, params, named, null, null, -1);
    return switch (plan.handover().to(decode, reply)) {
      case Continuation.Decode(Leg leg, _) -> leg;
      case Continuation.Complete _ ->
          throw new IllegalStateException("complete without a reason for that in the answer");
    };
  }
}
