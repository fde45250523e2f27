package io.pointsman.batch;

import io.pointsman.proxy.identity.ClientOwner;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRequest;
import java.util.function.DoubleSupplier;

/**
 * The owners of files and batches.
 *
 * @param confirmed true if servers confirm the keys of clients, so an unnamed key is a proof
 * @param share maximum share of the store for one owner, above 0 to 1; may change
 */
record Owners(boolean confirmed, DoubleSupplier share) {
  /** Owner of the files of clients without a key or certificate. */
  static final String EVERYBODY = ClientOwner.EVERYBODY;

  /** Owners with a share that stays. */
  Owners(boolean confirmed, double share) {
    this(confirmed, () -> share);
  }

  /** The part of a limit that one owner may use, at least 1. */
  long shareOf(long most) {
    return Math.max(1, (long) (most * share.getAsDouble()));
  }

  /** The owner of the files that the client of a request stores. */
  String of(LocalRequest request) {
    String credentials =
        CallerCheck.credentials(request.header("authorization"), request.header("x-api-key"));
    return ClientOwner.of(request.client(), credentials, confirmed);
  }
}
