package io.pointsman.proxy.quota;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The limits of all clients. It has an account for each client and model that a limit applies to:
 * at most {@link #MOST_ACCOUNTS}, and those with requests in progress. The least recently used ones
 * are removed, unused ones first. Thread-safe; without limits it does nothing.
 */
public final class ClientLimiter {
  /** Maximum number of accounts without requests in progress. */
  static final int MOST_ACCOUNTS = 10_000;

  /** Accounts that a new one examines, from the least recently used one. */
  private static final int EXAMINED = 4;

  private final Ticker ticker;
  private final Map<Name, ClientAccount> accounts = new LinkedHashMap<>(16, 0.75f, true);

  private final ChargedResponses responses = new ChargedResponses();

  private record Name(ClientIdentity.Kind kind, String client, String model) {}

  public ClientLimiter(Ticker ticker) {
    this.ticker = ticker;
  }

  /** The stored responses that were charged. */
  public ChargedResponses responses() {
    return responses;
  }

  /**
   * Asks for a request's place.
   *
   * @param model model of the request; null if it names none. It then counts as one of the fleet's
   * @param fleet the fleet; all models that it does not have are one, because clients invent them
   * @param promptTokens estimate of the prompt's tokens
   * @param defaults limits of clients without own ones
   */
  public QuotaAnswer enter(
      ClientIdentity client,
      @Nullable String model,
      FleetSnapshot fleet,
      long promptTokens,
      ClientQuota defaults) {
    if (client.quotas().equals(ClientQuotas.NONE) && !defaults.any()) {
      return QuotaAnswer.UNLIMITED;
    }
    String named = model == null ? unnamed(fleet, client.quotas()) : model;
    ClientQuota quota = client.quotas().of(named, defaults);
    if (!quota.any()) {
      return QuotaAnswer.UNLIMITED;
    }
    String known = named != null && serves(fleet, named) ? named : "";
    Name name = new Name(client.kind(), client.name(), known);
    return account(name).enter(quota, promptTokens, ticker.nanos());
  }

  private static boolean serves(FleetSnapshot fleet, String model) {
    for (Role role : Role.values()) {
      if (fleet.models(role).containsKey(model)) {
        return true;
      }
    }
    return false;
  }

  /**
   * The model of a request that names none, for which an engine serves one of its own: the first
   * one that the client has own limits for, else the first one. Null if no model is known.
   */
  private static @Nullable String unnamed(FleetSnapshot fleet, ClientQuotas quotas) {
    String first = null;
    boolean limited = false;
    for (Role role : Role.values()) {
      for (String each : fleet.models(role).keySet()) {
        boolean own = quotas.byModel().containsKey(each);
        boolean precedes = first == null || each.compareTo(first) < 0;
        if (own == limited ? precedes : own) {
          first = each;
          limited = own;
        }
      }
    }
    return first;
  }

  private synchronized ClientAccount account(Name name) {
    ClientAccount known = accounts.get(name);
    if (known != null) {
      return known;
    }
    makeRoom();
    ClientAccount made = new ClientAccount();
    accounts.put(name, made);
    return made;
  }

  private void makeRoom() {
    long now = ticker.nanos();
    int examined = 0;
    Iterator<ClientAccount> eldest = accounts.values().iterator();
    while (eldest.hasNext() && examined < EXAMINED) {
      ClientAccount each = eldest.next();
      examined++;
      if (each.unused(now) || (accounts.size() >= MOST_ACCOUNTS && !each.busy())) {
        eldest.remove();
      }
    }
  }

  /** Number of accounts. */
  synchronized int size() {
    return accounts.size();
  }
}
