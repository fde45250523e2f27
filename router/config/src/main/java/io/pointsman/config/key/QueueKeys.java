package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.modelQueues;

import io.pointsman.config.value.ModelQueue;
import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.identity.Priority;
import java.time.Duration;
import java.util.List;

/** Keys of admission: maximum load, the queue, priorities, and deferred requests. */
public final class QueueKeys {
  public static final Key<Integer> MAX_CONCURRENT =
      Key.of(
              "limits.max-concurrent-requests",
              integer(0, 10_000_000),
              AdmissionSettings.DEFAULTS.maxConcurrentRequests(),
              "Maximum number of requests in progress. A request counts until its response ends."
                  + " Excess requests wait in the queue.",
              "`0`: no limit. A low value makes clients wait although workers are idle.")
          .flag("--max-concurrent-requests");

  public static final Key<Integer> RATE_PER_SECOND =
      Key.of(
              "limits.rate-per-second",
              integer(0, 10_000_000),
              AdmissionSettings.DEFAULTS.ratePerSecond(),
              "Maximum average request rate per second. Excess requests wait in the queue. A burst"
                  + " can have `limits.max-concurrent-requests` requests; if that is `0`, one"
                  + " second's worth.",
              "`0`: no limit. A low value makes clients wait although workers are idle.")
          .flag("--rate-per-second");

  public static final Key<Integer> QUEUE_SIZE =
      Key.of(
              "limits.queue-size",
              integer(0, 1_000_000),
              AdmissionSettings.DEFAULTS.queueSize(),
              "Maximum number of requests in the queue. In a full queue, the last request of the"
                  + " lowest priority, of the client with most requests there, is refused with"
                  + " `limits.queue-full-status`. It can be the new one.",
              "`0`: no queue; excess requests are refused at once. With a high value, clients wait"
                  + " up to `limits.queue-timeout`.")
          .flag("--queue-size");

  public static final Key<Integer> QUEUE_FULL_STATUS =
      Key.of(
              "limits.queue-full-status",
              integer(400, 599),
              AdmissionSettings.DEFAULTS.queueFullStatus(),
              "HTTP status of the answer when the queue is full.",
              "Most clients retry both 429 and 503. Some count them separately in their metrics.")
          .flag("--queue-full-status");

  public static final Key<Duration> QUEUE_TIMEOUT =
      Key.of(
              "limits.queue-timeout",
              duration(Duration.ofMillis(1), Duration.ofHours(24)),
              AdmissionSettings.DEFAULTS.queueTimeout(),
              "Maximum time in the queue. Then the router answers with"
                  + " `limits.queue-timeout-status`.",
              "A low value refuses requests early in bursts. A high value makes clients wait long"
                  + " before they learn of an overload.")
          .flag("--queue-timeout");

  public static final Key<Integer> QUEUE_TIMEOUT_STATUS =
      Key.of(
              "limits.queue-timeout-status",
              integer(400, 599),
              AdmissionSettings.DEFAULTS.queueTimeoutStatus(),
              "HTTP status of the answer after `limits.queue-timeout`.",
              "408 makes some clients retry at once.")
          .flag("--queue-timeout-status");

  public static final Key<Priority> MAX_PRIORITY =
      Key.of(
          "limits.max-priority",
          constant(Priority.class),
          AdmissionSettings.DEFAULTS.maxPriority(),
          "Highest priority in the queue that a client can choose by the header"
              + " `x-pointsman-priority` (`high`, `normal` or `low`), if its key has none of its"
              + " own. Requests without the header have the priority of their key, else `normal`.",
          "`high`: clients can pass all others. `low`: clients without a key of their own wait"
              + " behind those with one.");

  public static final Key<Double> HIGH_SHARE =
      Key.of(
          "limits.high-priority-share",
          decimal(0, 0.5),
          AdmissionSettings.DEFAULTS.highShare(),
          "Share of `limits.max-concurrent-requests` that only requests of high priority can use,"
              + " for a minute after each of them; rounded up.",
          "`0`: a request of high priority waits until another request ends. With a high value,"
              + " other clients get less.");

  public static final Key<List<ModelQueue>> MODEL_QUEUES =
      Key.of(
          "limits.models",
          modelQueues(integer(1, 10_000_000), integer(0, 1_000_000), integer(400, 599)),
          List.of(),
          "Models with a queue of their own: a list of groups with `model`,"
              + " `max-concurrent-requests`, `queue-size` and `queue-full-status`. The last two"
              + " default to the values for all models.",
          "Requests for these models and their adapters use only their own queue. They do not count"
              + " towards `limits.rate-per-second`. All other models share the common queue.");

  public static final Key<Duration> DEFER_BEYOND =
      Key.of(
              "queue.defer-beyond",
              duration(Duration.ZERO, Duration.ofMinutes(1)),
              DeferralSettings.DEFAULTS.beyond(),
              "Defer a request in the router while every worker is full and the predicted wait on"
                  + " each worker exceeds this time. A worker is full if a whole further step of"
                  + " prompts (`cost.step-tokens`) already waits there. A busy worker is also full"
                  + " if it reports its KV memory and has none for the prompt. Deferred requests"
                  + " with the fewest uncached tokens are placed first. This needs a policy that"
                  + " predicts the wait (`cost`) and 2 to 128 workers. At most `limits.queue-size`"
                  + " requests are deferred. If one more arrives, the first one deferred for its"
                  + " model is placed. Only requests that the router forwards to a single worker"
                  + " are deferred; `/v1/decide`, HAProxy and nginx get their decision at once.",
              "`0`: no request is deferred. With a high value, more requests wait at a worker that"
                  + " was chosen early. Set `0` if a worker URL is a load balancer in front of"
                  + " several engines.")
          .flag("--defer-beyond");

  public static final Key<Duration> DEFER_AT_MOST =
      Key.of(
              "queue.defer-at-most",
              duration(Duration.ofMillis(1), Duration.ofHours(1)),
              DeferralSettings.DEFAULTS.longest(),
              "Maximum time for which a request is deferred. Then it is placed on the worker with"
                  + " the lowest cost, even if that worker is full.",
              "A low value gives up the benefit of deferral when the load exceeds the capacity. A"
                  + " high value delays prompts that do not fit into any worker's memory, while"
                  + " other prompts pass them.")
          .flag("--defer-at-most");

  public static final Key<Duration> DEFER_WITHOUT_WORKER =
      Key.of(
              "queue.defer-without-worker",
              duration(Duration.ZERO, Duration.ofHours(1)),
              DeferralSettings.DEFAULTS.withoutWorker(),
              "Defer a request for at most this time while no worker is available for it: none is"
                  + " registered, healthy or awake, or its models are not known yet. Use it for"
                  + " rollouts and for models that are scaled to zero. At most `limits.queue-size`"
                  + " requests are deferred; further ones get 503. Deferred requests count in"
                  + " `limits.max-concurrent-requests`. `GET /readiness` is then 200 without"
                  + " workers. `/v1/decide`, HAProxy and nginx get their answer at once.",
              "`0`: 503 with `Retry-After` at once. With a high value, clients wait long if an"
                  + " engine does not come back.")
          .flag("--defer-without-worker");

  public static final Key<Boolean> WAKE_SLEEPING =
      Key.of(
              "queue.wake-sleeping",
              bool(),
              false,
              "Call `POST /wake_up` of one engine if a request waits for a model with only sleeping"
                  + " workers. Needs `queue.defer-without-worker`, which must be longer than the"
                  + " engine needs to load its weights.",
              "`false`: a sleeping engine gets requests after somebody else has woken it.")
          .flag("--wake-sleeping");

  private QueueKeys() {}

  static List<Key<?>> all() {
    return List.of(
        MAX_CONCURRENT,
        RATE_PER_SECOND,
        QUEUE_SIZE,
        QUEUE_FULL_STATUS,
        QUEUE_TIMEOUT,
        QUEUE_TIMEOUT_STATUS,
        MAX_PRIORITY,
        HIGH_SHARE,
        MODEL_QUEUES,
        DEFER_BEYOND,
        DEFER_AT_MOST,
        DEFER_WITHOUT_WORKER,
        WAKE_SLEEPING);
  }
}
