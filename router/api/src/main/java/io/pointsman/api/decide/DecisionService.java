package io.pointsman.api.decide;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.quota.ClientLimiter;
import io.pointsman.proxy.quota.QuotaAnswer;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.reader.Readers;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The dependencies of the endpoints for external proxies. */
public final class DecisionService {
  private final RoutingEngine engine;
  private final Choices choices;
  private final Readers readers;
  private final Ticker ticker;
  private final RandomSource random;
  private final BooleanSupplier decodeServesWhole;
  private final Supplier<AdmissionSettings> admission;
  private final Supplier<@Nullable SplitPlacements> split;
  private final PromptListener prompts;
  private final ClientLimiter limiter;
  private final Supplier<ClientQuota> quota;

  /**
   * @param affinity session and owner fields of requests; may change
   * @param decodeServesWhole true if decode workers may serve whole requests; may change
   * @param admission settings of the status for busy workers; may change
   * @param split chooses two workers for a request; null if one worker serves each; may change
   * @param quota limits of clients without own ones; may change
   * @param prompts receives prompts that are about to be sent
   */
  public DecisionService(
      RoutingEngine engine,
      Choices choices,
      Supplier<AffinitySettings> affinity,
      BooleanSupplier decodeServesWhole,
      Supplier<AdmissionSettings> admission,
      Supplier<@Nullable SplitPlacements> split,
      Supplier<ClientQuota> quota,
      PromptListener prompts,
      Ticker ticker,
      RandomSource random) {
    this.decodeServesWhole = decodeServesWhole;
    this.admission = requireNonNull(admission, "admission");
    this.split = split;
    this.quota = requireNonNull(quota, "quota");
    limiter = new ClientLimiter(ticker);
    this.prompts = requireNonNull(prompts, "prompts");
    this.engine = requireNonNull(engine, "engine");
    this.choices = requireNonNull(choices, "choices");
    this.ticker = requireNonNull(ticker, "ticker");
    this.random = requireNonNull(random, "random");
    readers = new Readers(affinity, engine::wanted);
  }

  /**
   * The owner of a caller's leases: each key with a name is one, and all other callers of one kind
   * together.
   */
  static String owner(LocalRequest request) {
    String name = request.callerName();
    return name.isEmpty() ? request.caller().name() : request.caller().name() + ":" + name;
  }

  /**
   * Charges a request of another proxy's client, if its key is known, to the limits of requests and
   * prompts. The proxy reports neither the end of each request nor tokens for it, so the other
   * limits do not apply.
   *
   * @return the limit that refuses it; null if there is none
   */
  QuotaAnswer.@Nullable Refused limited(
      LocalRequest request, @Nullable String model, RequestFacts facts) {
    ClientIdentity client = request.client();
    if (!client.named() || client.name().equals(request.callerName())) {
      return null; // The proxy itself; it does not report the address of its client.
    }
    long prompt = facts.prefix().tokens();
    QuotaAnswer answer =
        limiter.enter(client, model, engine.fleet().snapshot(), prompt, quota.get());
    return switch (answer) {
      case QuotaAnswer.Admitted admitted -> {
        admitted.end(prompt, 0, ticker.nanos());
        yield null;
      }
      case QuotaAnswer.Refused refused -> refused;
    };
  }

  /** The role of workers that serve a whole request for {@code model}. */
  Role roleOfWhole(@Nullable String model) {
    boolean decode =
        decodeServesWhole.getAsBoolean()
            && !engine.serves(Role.REGULAR, model)
            && engine.serves(Role.DECODE, model);
    return decode ? Role.DECODE : Role.REGULAR;
  }

  /**
   * The HTTP status while all workers of {@code model} are busy, because a proxy's request cannot
   * wait in the queue. It is 429 if there is a queue that answers 429 when full; 503 otherwise.
   * Proxies forward these two.
   */
  int busyStatus(@Nullable String model) {
    boolean tooMany = admission.get().answersTooMany(model);
    return (tooMany ? ProxyError.QUEUE_FULL : ProxyError.ALL_BUSY).status();
  }

  /**
   * Reports to the listener that a proxy is about to send this prompt to the worker.
   *
   * @param authorization the client's Authorization; null if unknown
   * @param body array with the complete client body
   * @param from offset of the client body in bytes
   * @param length length of the client body in bytes
   */
  void sent(
      RequestFacts facts,
      Worker worker,
      @Nullable String authorization,
      byte[] body,
      int from,
      int length) {
    if (length > 0 && prompts.wants(facts)) {
      prompts.sent(facts, worker, authorization, Arrays.copyOfRange(body, from, from + length));
    }
  }

  /** Null if one worker serves each request. */
  @Nullable SplitPlacements split() {
    return split.get();
  }

  RoutingEngine engine() {
    return engine;
  }

  Choices choices() {
    return choices;
  }

  Readers readers() {
    return readers;
  }

  Ticker ticker() {
    return ticker;
  }

  RandomSource random() {
    return random;
  }
}
