package io.pointsman.batch;

import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.Priority;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.request.RequestHeaders;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The clients of the batches that run. The router sends the requests of a batch to its own port,
 * with a secret of this run in a header. It names the client that created the batch, so that
 * client's limits, share of the queue, log and metrics have the requests. Any thread.
 */
final class BatchClients {
  /** Header with the secret. Engines do not get it. */
  static final String HEADER = "x-pointsman-batch";

  /** Permits no model; an empty set permits all. */
  private static final Set<String> NO_MODEL = Set.of("(no model)");

  private final Supplier<String> secrets;
  private final Function<String, @Nullable KeyHolder> keys;

  /** Secrets by the batches that run, and their clients. */
  private final Map<String, String> ofBatch = new ConcurrentHashMap<>();

  private final Map<String, CallerCheck.Principal> bySecret = new ConcurrentHashMap<>();

  /**
   * @param secrets source of texts that nobody can guess
   * @param keys the present holder of a key by its name; null if there is none
   */
  BatchClients(Supplier<String> secrets, Function<String, @Nullable KeyHolder> keys) {
    this.secrets = secrets;
    this.keys = keys;
  }

  /** Begins the requests of a batch. A batch of an earlier version has no client. */
  void enter(Batch batch) {
    ClientIdentity client = StoredClient.read(batch.json());
    if (client != null) {
      String secret = secrets.get();
      bySecret.put(secret, new CallerCheck.Principal(client, batch.owner()));
      ofBatch.put(batch.id(), secret);
    }
  }

  /** Ends the requests of a batch. */
  void leave(Batch batch) {
    String secret = ofBatch.remove(batch.id());
    if (secret != null) {
      bySecret.remove(secret);
    }
  }

  /** The secret of a batch that runs; empty if it has no client. */
  String secret(Batch batch) {
    return ofBatch.getOrDefault(batch.id(), "");
  }

  /** The client with its present limits; null for a request that is not of a batch. */
  private CallerCheck.@Nullable Principal sentFor(RequestHeaders headers, ClientIdentity sender) {
    String secret = headers.first(HEADER);
    CallerCheck.Principal entered = secret == null ? null : bySecret.get(secret);
    if (entered == null) {
      return null;
    }
    ClientIdentity stored = entered.client();
    KeyHolder present = stored.byKey() ? keys.apply(stored.name()) : null;
    ClientIdentity client = present == null ? stored : present.identity();
    // Nobody waits for a batch, so its requests do not precede those of others.
    Priority priority = client.priority() == Priority.HIGH ? Priority.NORMAL : client.priority();
    ClientIdentity known =
        new ClientIdentity(
            client.kind(), client.name(), models(sender, client), client.quotas(), priority);
    return new CallerCheck.Principal(known, entered.owner());
  }

  /** The models that both the key of batches and the client may use. */
  private static Set<String> models(ClientIdentity sender, ClientIdentity client) {
    if (!sender.restricted()) {
      return client.models();
    }
    if (!client.restricted()) {
      return sender.models();
    }
    Set<String> both = new HashSet<>(sender.models());
    both.retainAll(client.models());
    return both.isEmpty() ? NO_MODEL : both;
  }

  /** The check of clients, which also knows the requests of batches. */
  CallerCheck around(CallerCheck others) {
    return new CallerCheck() {
      @Override
      public Verdict known(@Nullable String authorization) {
        return others.known(authorization);
      }

      @Override
      public Verdict ask(String authorization) {
        return others.ask(authorization);
      }

      @Override
      public Admittance admission(@Nullable String authorization) {
        return others.admission(authorization);
      }

      @Override
      public Admittance askAdmission(String authorization) {
        return others.askAdmission(authorization);
      }

      @Override
      public boolean confirms() {
        return others.confirms();
      }

      @Override
      public boolean identifies() {
        return others.identifies();
      }

      @Override
      public @Nullable KeyHolder holder(@Nullable String authorization) {
        return others.holder(authorization);
      }

      @Override
      public @Nullable Principal sentFor(RequestHeaders headers, ClientIdentity sender) {
        Principal own = BatchClients.this.sentFor(headers, sender);
        return own == null ? others.sentFor(headers, sender) : own;
      }
    };
  }
}
