package io.pointsman.api.keys;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.identity.Priority;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A key as it is stored: everything but the key.
 *
 * <p>The hash is SHA-256 without salt. A key has 256 random bits, so nobody can find it by trying,
 * and equal keys do not occur. Slow hashes protect passwords, which people choose.
 *
 * @param name unique name, shown in metrics and logs
 * @param hash SHA-256 of the key, as 64 hexadecimal digits
 * @param models models that the key may use; empty: all
 * @param quotas own limits of a client
 * @param priority highest priority of a client's requests, and the usual one; null: that of clients
 *     without a key of their own
 * @param expires end of its validity; null: none
 */
public record StoredKey(
    String name,
    KeyRole role,
    String hash,
    List<String> models,
    ClientQuotas quotas,
    @Nullable Priority priority,
    @Nullable Instant expires) {
  /** Start of a created key, by which scanners for leaked keys can find one. */
  public static final String PREFIX = "pmk-";

  private static final int KEY_BYTES = 32;

  /**
   * Only copied, because each request with a key needs one, and the search for one takes longer.
   */
  private static final MessageDigest SHA_256 = sha256();

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}");
  private static final Pattern HASH = Pattern.compile("[0-9a-f]{64}");

  public StoredKey {
    requireNonNull(role, "role");
    models = List.copyOf(models);
    requireNonNull(quotas, "quotas");
    if (role != KeyRole.CLIENT && !quotas.equals(ClientQuotas.NONE)) {
      throw new IllegalArgumentException(
          "limits: with role " + role.text() + " (expected: client, which alone has limits)");
    }
    if (role != KeyRole.CLIENT && priority != null) {
      throw new IllegalArgumentException(
          "priority: with role " + role.text() + " (expected: client, which alone has one)");
    }
    if (role != KeyRole.CLIENT && !models.isEmpty()) {
      throw new IllegalArgumentException(
          "models: with role " + role.text() + " (expected: client, which alone uses models)");
    }
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "name: " + name + " (expected: at most 64 letters, digits, '.', '_' and '-')");
    }
    if (!HASH.matcher(hash).matches()) {
      throw new IllegalArgumentException("hash: (expected: sha256: and 64 hexadecimal digits)");
    }
    if (models.stream().anyMatch(String::isBlank)) {
      throw new IllegalArgumentException("models: blank (expected: names of models)");
    }
  }

  /** A key without own limits and priority. */
  public StoredKey(
      String name, KeyRole role, String hash, List<String> models, @Nullable Instant expires) {
    this(name, role, hash, models, ClientQuotas.NONE, null, expires);
  }

  /** A new key as text. */
  public static String create(Consumer<byte[]> random) {
    byte[] bytes = new byte[KEY_BYTES];
    random.accept(bytes);
    return PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  /** The hash of a key. */
  public static String hash(String key) {
    return HexFormat.of().formatHex(digest(key));
  }

  static byte[] digest(String key) {
    try {
      MessageDigest digest = (MessageDigest) SHA_256.clone();
      return digest.digest(key.getBytes(UTF_8));
    } catch (CloneNotSupportedException e) {
      throw new IllegalStateException(e); // those of the Java runtime can be copied
    }
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // each Java runtime has it
    }
  }

  /** True if the key is valid at the time of the clock. */
  boolean validAt(InstantSource clock) {
    return expires == null || clock.instant().isBefore(expires);
  }
}
