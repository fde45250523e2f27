package io.pointsman.api.keys;

import io.pointsman.config.ConfigException;
import io.pointsman.config.YamlTree;
import io.pointsman.config.value.RawValue;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.identity.Priority;
import java.io.IOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The file with the stored keys, in YAML. */
public final class KeyFile {
  /** Maximum number of keys. */
  static final int MOST_KEYS = 100_000;

  private static final int DEPTH = 6;
  private static final String ALGORITHM = "sha256:";
  private static final Set<String> FIELDS =
      Set.of("name", "role", "hash", "models", "limits", "model-limits", "priority", "expires");
  private static final String HEADER =
      """
      # Keys of clients. The hash is SHA-256 of the key; the key itself is nowhere.
      # 'pointsman key create' adds one. To revoke a key, remove it.
      keys:
      """;

  private KeyFile() {}

  /**
   * The keys of a file.
   *
   * @throws ConfigException if the file is unreadable or invalid
   */
  public static List<StoredKey> read(Path file) {
    return parse(file.toString(), YamlTree.text(file));
  }

  /**
   * The keys of a file that is read again and again.
   *
   * @throws ConfigException if the file is no regular file, is unreadable or invalid
   */
  static List<StoredKey> readWatched(Path file) {
    return parse(file.toString(), YamlTree.watchedText(file));
  }

  /**
   * The keys of an environment variable with the text of a file.
   *
   * @param text its value; null if it is not set
   * @throws ConfigException if it is not set or invalid
   */
  public static List<StoredKey> ofVariable(String name, @Nullable String text) {
    if (text == null || text.isBlank()) {
      throw new ConfigException(
          name + ": not set (expected: an environment variable with the text of a file of keys)");
    }
    return parse("$" + name, text);
  }

  /**
   * Checks the keys of a file and of a variable.
   *
   * @param file empty: none
   * @param variable its name; empty: none
   * @throws ConfigException if they cannot be used together
   */
  public static void check(String file, String variable, @Nullable String text) {
    List<StoredKey> constant = variable.isEmpty() ? List.of() : ofVariable(variable, text);
    joined(constant, file.isEmpty() ? List.of() : read(Path.of(file)));
  }

  /**
   * The keys of two sources.
   *
   * @throws ConfigException if a name or a key is in both
   */
  static List<StoredKey> joined(List<StoredKey> first, List<StoredKey> second) {
    Set<String> taken = new HashSet<>();
    first.forEach(each -> taken.addAll(List.of(each.name(), each.hash())));
    for (StoredKey each : second) {
      if (taken.contains(each.name()) || taken.contains(each.hash())) {
        throw new ConfigException(
            each.name() + ": the name or the hash is in auth.keys-env and in auth.keys-file");
      }
    }
    List<StoredKey> all = new ArrayList<>(first);
    all.addAll(second);
    return List.copyOf(all);
  }

  static List<StoredKey> parse(String name, String text) {
    List<String> problems = new ArrayList<>();
    RawValue root =
        YamlTree.compose(name, text, DEPTH, problems).orElse(new RawValue.Entries(Map.of(), name));
    if (!problems.isEmpty()) {
      throw new ConfigException(String.join("\n", problems));
    }
    if (!(root instanceof RawValue.Entries(Map<String, RawValue> entries, String where))) {
      throw new ConfigException(name + ": not a group of keys (expected: keys: and a list)");
    }
    for (String field : entries.keySet()) {
      if (!field.equals("keys")) {
        throw new ConfigException(where + ": " + field + ": unknown (expected: keys)");
      }
    }
    RawValue list = entries.get("keys");
    if (list == null || (list instanceof RawValue.Scalar(String scalar, _) && scalar.isEmpty())) {
      return List.of();
    }
    if (!(list instanceof RawValue.Items(List<RawValue> items, _))) {
      throw new ConfigException(list.where() + ": keys: not a list");
    }
    if (items.size() > MOST_KEYS) {
      throw new ConfigException(list.where() + ": keys: more than " + MOST_KEYS);
    }
    List<StoredKey> keys = new ArrayList<>();
    Set<String> names = new HashSet<>();
    Set<String> hashes = new HashSet<>();
    for (RawValue item : items) {
      StoredKey key = key(item);
      if (!names.add(key.name()) || !hashes.add(key.hash())) {
        throw new ConfigException(
            item.where() + ": " + key.name() + ": the name or the hash occurs twice");
      }
      keys.add(key);
    }
    return List.copyOf(keys);
  }

  private static StoredKey key(RawValue item) {
    if (!(item instanceof RawValue.Entries(Map<String, RawValue> fields, String where))) {
      throw new ConfigException(item.where() + ": not a group (expected: name, role, hash)");
    }
    for (String field : fields.keySet()) {
      if (!FIELDS.contains(field)) {
        throw new ConfigException(
            where
                + ": "
                + field
                + ": unknown (expected: name, role, hash, models, limits, model-limits,"
                + " priority or expires)");
      }
    }
    String hash = text(fields, "hash", where);
    if (!hash.startsWith(ALGORITHM)) {
      throw new ConfigException(where + ": hash: (expected: sha256: and 64 hexadecimal digits)");
    }
    try {
      return new StoredKey(
          text(fields, "name", where),
          KeyRole.of(text(fields, "role", where)),
          hash.substring(ALGORITHM.length()),
          models(fields.get("models"), where),
          QuotaFields.read(fields.get("limits"), fields.get("model-limits")),
          fields.containsKey("priority") ? Priority.of(text(fields, "priority", where)) : null,
          expires(fields.containsKey("expires") ? text(fields, "expires", where) : ""));
    } catch (IllegalArgumentException e) {
      throw new ConfigException(where + ": " + e.getMessage());
    }
  }

  private static String text(Map<String, RawValue> fields, String name, String where) {
    if (fields.get(name) instanceof RawValue.Scalar(String text, _) && !text.isEmpty()) {
      return text;
    }
    throw new ConfigException(where + ": " + name + ": missing or not a text");
  }

  private static List<String> models(@Nullable RawValue raw, String where) {
    if (raw == null) {
      return List.of();
    }
    if (!(raw instanceof RawValue.Items(List<RawValue> items, _)) || items.isEmpty()) {
      // An empty list could be meant as no model; a missing one means all.
      throw new ConfigException(where + ": models: (expected: a list with names)");
    }
    List<String> models = new ArrayList<>();
    for (RawValue item : items) {
      if (!(item instanceof RawValue.Scalar(String text, _))) {
        throw new ConfigException(item.where() + ": models: not a name");
      }
      models.add(text);
    }
    return models;
  }

  private static @Nullable Instant expires(String text) {
    try {
      return text.isEmpty() ? null : Instant.parse(text);
    } catch (DateTimeException e) {
      throw new IllegalArgumentException(
          "expires: " + text + " (expected: a time such as 2027-01-31T00:00:00Z)", e);
    }
  }

  /**
   * Adds a key to a file, which is created if it does not exist. A reader sees the earlier or the
   * new contents. Only the user can read a created file.
   *
   * @throws ConfigException if the file is invalid, or has a key of this name
   */
  public static void add(Path file, StoredKey key) throws IOException {
    boolean exists = Files.exists(file);
    String before = exists ? YamlTree.text(file) : HEADER;
    List<StoredKey> present = parse(file.toString(), before);
    if (present.stream().anyMatch(each -> each.name().equals(key.name()))) {
      throw new ConfigException("--name: " + key.name() + ": there is a key of this name");
    }
    String start = present.isEmpty() ? HEADER : before;
    String after = (start.endsWith("\n") ? start : start + "\n") + format(key);
    // Also checks that an unusual style of the file still gives the same list.
    List<StoredKey> expected = new ArrayList<>(present);
    expected.add(key);
    if (!expected.equals(parse(file.toString(), after))) {
      throw new ConfigException(
          file + ": cannot be extended (expected: a list in block style at its end)");
    }
    replace(file, exists, after);
  }

  private static void replace(Path file, boolean exists, String text) throws IOException {
    Path target = exists ? file.toRealPath() : file.toAbsolutePath();
    boolean posix = target.getFileSystem().supportedFileAttributeViews().contains("posix");
    FileAttribute<?>[] owner =
        posix
            ? new FileAttribute<?>[] {
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
            }
            : new FileAttribute<?>[0];
    Path next = Files.createTempFile(target.getParent(), ".keys-", ".yaml", owner);
    try {
      Files.writeString(next, text, StandardOpenOption.TRUNCATE_EXISTING);
      if (exists && posix) {
        Files.setPosixFilePermissions(next, Files.getPosixFilePermissions(target));
      }
      move(next, target);
    } finally {
      Files.deleteIfExists(next);
    }
  }

  private static void move(Path from, Path to) throws IOException {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException e) {
      Files.move(from, to, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  /** A warning if other users of the machine can read or change the file; empty otherwise. */
  static String problemOfPermissions(Path file) {
    Set<PosixFilePermission> permissions;
    try {
      permissions = Files.getPosixFilePermissions(file);
    } catch (IOException | UnsupportedOperationException e) {
      return "";
    }
    boolean written =
        permissions.contains(PosixFilePermission.OTHERS_WRITE)
            || permissions.contains(PosixFilePermission.GROUP_WRITE);
    boolean read = permissions.contains(PosixFilePermission.OTHERS_READ);
    if (!written && !read) {
      return "";
    }
    return file
        + ": other users can "
        + (written ? "change" : "read")
        + " the file with keys (expected: permissions 600)";
  }

  private static String format(StoredKey key) {
    StringBuilder out = new StringBuilder();
    out.append("  - name: ").append(quoted(key.name())).append('\n');
    out.append("    role: ").append(key.role().text()).append('\n');
    out.append("    hash: ").append(ALGORITHM).append(key.hash()).append('\n');
    if (!key.models().isEmpty()) {
      out.append("    models: [");
      out.append(String.join(", ", key.models().stream().map(KeyFile::quoted).toList()));
      out.append("]\n");
    }
    String limits = QuotaFields.format(key.quotas().ofEach());
    if (!limits.isEmpty()) {
      out.append("    limits: ").append(limits).append('\n');
    }
    if (key.priority() != null) {
      out.append("    priority: ").append(key.priority().text()).append('\n');
    }
    if (key.expires() != null) {
      out.append("    expires: ").append(key.expires()).append('\n');
    }
    return out.toString();
  }

  private static String quoted(String text) {
    return "'" + text.replace("'", "''") + "'";
  }
}
