package io.pointsman.proxy.identity;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Names of clients as owners of stored responses, files and batches. A client with a named key, a
 * key that a server has confirmed, or a certificate is an owner. A key precedes a certificate,
 * because a TLS proxy can have one certificate for many clients. All other clients are one owner,
 * because an address is no proof of a client.
 */
public final class ClientOwner {
  /** Owner of the stored responses of clients without a key or certificate. */
  public static final String EVERYBODY = "";

  private static final String SCHEME = "bearer ";
  private static final int DIGEST_BYTES = 16;

  private ClientOwner() {}

  /**
   * The name of a client as an owner. It contains no key.
   *
   * @param credentials the client's {@code Authorization} or the same for its key in {@code
   *     x-api-key}; null if it has neither
   * @param confirmed true if servers confirm the keys of clients, so an unnamed key is a proof
   */
  public static String of(ClientIdentity client, @Nullable String credentials, boolean confirmed) {
    return switch (client.kind()) {
      case KEY, CONFIRMED -> "key/" + client.name();
      case CERTIFICATE -> byKey(credentials, confirmed, "certificate/" + client.name());
      case ADDRESS -> byKey(credentials, confirmed, EVERYBODY);
    };
  }

  private static String byKey(@Nullable String header, boolean confirmed, String withoutKey) {
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
