package io.pointsman.batch;

import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRequest;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The owners of files and batches. A client with a named key, a key that a server has confirmed, or
 * a certificate owns what it stores. A key precedes a certificate, because a TLS proxy can have one
 * certificate for many clients. All other clients are one owner, because an address is no proof of
 * a client.
 *
 * @param confirmed true if servers confirm the keys of clients, so an unnamed key is a proof
 * @param share maximum share of the store for one owner, above 0 to 1
 */
record Owners(boolean confirmed, double share) {
  /** Owner of the files of clients without a key or certificate. */
  static final String EVERYBODY = "";

  private static final String SCHEME = "bearer ";
  private static final int DIGEST_BYTES = 16;

  /** The part of a limit that one owner may use, at least 1. */
  long shareOf(long most) {
    return Math.max(1, (long) (most * share));
  }

  /** The owner of the files that the client of a request stores. */
  String of(LocalRequest request) {
    ClientIdentity client = request.client();
    return switch (client.kind()) {
      case KEY, CONFIRMED -> "key/" + client.name();
      case CERTIFICATE -> byKey(request, "certificate/" + client.name());
      case ADDRESS -> byKey(request, EVERYBODY);
    };
  }

  /** The owner by its key, which is not stored. */
  private String byKey(LocalRequest request, String withoutKey) {
    String header =
        CallerCheck.credentials(request.header("authorization"), request.header("x-api-key"));
    if (!confirmed || header == null) {
      return withoutKey;
    }
    boolean scheme = header.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
    byte[] digest = digest(header.substring(scheme ? SCHEME.length() : 0).strip());
    return "confirmed/" + HexFormat.of().formatHex(Arrays.copyOf(digest, DIGEST_BYTES));
  }

  private static byte[] digest(String key) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // each Java runtime has it
    }
  }
}
