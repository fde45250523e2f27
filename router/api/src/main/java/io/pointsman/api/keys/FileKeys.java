package io.pointsman.api.keys;

import io.pointsman.api.admin.KeyValidation;
import io.pointsman.config.ConfigException;
import io.pointsman.engine.env.LogText;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.KeyRing;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.local.CallerCheck;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys of a file, of an environment variable, or of both. Clients with other keys are for a
 * further check. {@link #refresh} reads a changed file again; an invalid one changes nothing.
 * Thread-safe.
 */
public final class FileKeys implements CallerCheck, KeyRing {
  private static final Logger log = LoggerFactory.getLogger(FileKeys.class);

  /** A file can change twice within the resolution of its time, which is at most this. */
  private static final Duration RESOLUTION = Duration.ofSeconds(3);

  /** Null if all keys are constant. */
  private final @Nullable Path file;

  /** Keys that the file does not have. */
  private final List<StoredKey> constant;

  private final CallerCheck others;
  private final InstantSource clock;
  private volatile Table table;

  /** Roles of all keys since the start. */
  private volatile Set<KeyRole> roles = Set.of();

  /** State of the file before it was last read. Only for {@link #refresh}. */
  private @Nullable Version version;

  /** The last problem with the file, logged once. Only for {@link #refresh}. */
  private String problem = "";

  /** The last warning about the file's permissions, logged once. Only for {@link #refresh}. */
  private String warning = "";

  /** The state of a file by which a change is noticed. */
  private record Version(Instant modified, long size, @Nullable Object id) {
    boolean before(Instant time) {
      return modified.isBefore(time);
    }

    /** Null if the file cannot be examined; reading it then gives the reason. */
    static @Nullable Version of(Path file) {
      try {
        BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
        return new Version(now.lastModifiedTime().toInstant(), now.size(), now.fileKey());
      } catch (IOException e) {
        return null;
      }
    }
  }

  /** A key with its digest, for the comparison in constant time. */
  @SuppressWarnings("ArrayRecordComponent") // never compared as a record
  private record Entry(byte[] digest, StoredKey key, KeyHolder holder) {}

  /**
   * The keys by the first bytes of their digests. A client cannot choose the digest of its key, so
   * the time of this lookup reveals nothing about other keys.
   */
  private record Table(
      List<StoredKey> keys, Map<Long, List<Entry>> byStart, Map<String, Entry> byName) {
    static Table of(List<StoredKey> keys) {
      Map<Long, List<Entry>> byStart = new HashMap<>();
      Map<String, Entry> byName = new HashMap<>();
      for (StoredKey key : keys) {
        byte[] digest = HexFormat.of().parseHex(key.hash());
        ClientIdentity identity =
            new ClientIdentity(
                ClientIdentity.Kind.KEY,
                key.name(),
                Set.copyOf(key.models()),
                key.quotas(),
                key.priority());
        Entry entry = new Entry(digest, key, new KeyHolder(identity, key.role()));
        byStart.computeIfAbsent(start(digest), _ -> new ArrayList<>(1)).add(entry);
        byName.put(key.name(), entry);
      }
      return new Table(keys, byStart, byName);
    }

    static long start(byte[] digest) {
      return ByteBuffer.wrap(digest).getLong();
    }

    @Nullable Entry find(byte[] digest) {
      Entry found = null;
      for (Entry each : byStart.getOrDefault(start(digest), List.of())) {
        found = MessageDigest.isEqual(each.digest, digest) ? each : found;
      }
      return found;
    }
  }

  /**
   * Reads the file.
   *
   * @param others check of clients without a key of the file
   * @throws ConfigException if the file is unreadable or invalid
   */
  public FileKeys(Path file, CallerCheck others, InstantSource clock) {
    this(file, List.of(), others, clock);
  }

  /**
   * Reads the file, if there is one.
   *
   * @param file null: there is no file
   * @param constant keys that the file does not have
   * @param others check of clients without any of these keys
   * @throws ConfigException if the file is unreadable or invalid, or has a constant key too
   */
  public FileKeys(
      @Nullable Path file, List<StoredKey> constant, CallerCheck others, InstantSource clock) {
    this.file = file;
    this.constant = List.copyOf(constant);
    this.others = others;
    this.clock = clock;
    version = file == null ? null : Version.of(file);
    table = Table.of(file == null ? constant : read(file));
    use(table);
    if (file != null) {
      warnOfReaders(file);
    }
    log.info("{} keys of {}", table.keys.size(), source());
  }

  private List<StoredKey> read(Path from) {
    return KeyFile.joined(constant, KeyFile.readWatched(from));
  }

  private String source() {
    if (file == null) {
      return "auth.keys-env";
    }
    return LogText.of(file.toString()) + (constant.isEmpty() ? "" : " and auth.keys-env");
  }

  private void use(Table next) {
    EnumSet<KeyRole> seen = EnumSet.noneOf(KeyRole.class);
    seen.addAll(roles);
    next.keys.forEach(key -> seen.add(key.role()));
    roles = Set.copyOf(seen);
    table = next;
  }

  /** Guards every role that other keys guard too, because these keys replace them. */
  public void guardAs(KeyRing replaced) {
    EnumSet<KeyRole> guarded = EnumSet.noneOf(KeyRole.class);
    for (KeyRole role : KeyRole.values()) {
      if (guards(role) || replaced.guards(role)) {
        guarded.add(role);
      }
    }
    roles = Set.copyOf(guarded);
  }

  /** Reads the file again if it has changed. Must not be called by two threads; may block. */
  public void refresh() {
    Path from = file;
    if (from == null) {
      return;
    }
    Version now = Version.of(from);
    if (now != null && now.equals(version) && now.before(clock.instant().minus(RESOLUTION))) {
      return;
    }
    try {
      List<StoredKey> found = read(from);
      if (!found.equals(table.keys)) {
        use(Table.of(found));
        log.info("{}: changed, {} keys", source(), found.size());
      }
      problem = "";
      warnOfReaders(from);
    } catch (ConfigException e) {
      String message = String.valueOf(e.getMessage());
      if (!message.equals(problem)) {
        problem = message;
        log.warn("keys not read again, the previous ones stay: {}", LogText.of(message));
      }
    }
    version = now;
  }

  private void warnOfReaders(Path from) {
    String found = KeyFile.problemOfPermissions(from);
    if (!found.isEmpty() && !found.equals(warning)) {
      log.warn("{}", LogText.of(found));
    }
    warning = found;
  }

  @Override
  public @Nullable KeyHolder holder(@Nullable String authorization) {
    String key = KeyValidation.key(authorization);
    return key == null ? null : holderOf(key);
  }

  @Override
  public @Nullable KeyHolder holderOf(String key) {
    return valid(table.find(StoredKey.digest(key)));
  }

  @Override
  public @Nullable KeyHolder holderNamed(String name) {
    return valid(table.byName.get(name));
  }

  private @Nullable KeyHolder valid(@Nullable Entry found) {
    return found != null && found.key.validAt(clock) ? found.holder : null;
  }

  @Override
  public boolean guards(KeyRole role) {
    return roles.contains(role);
  }

  @Override
  public Verdict known(@Nullable String authorization) {
    return admission(authorization).verdict();
  }

  @Override
  public Verdict ask(String authorization) {
    return others.ask(authorization);
  }

  @Override
  public boolean confirms() {
    return others.confirms();
  }

  @Override
  public Admittance admission(@Nullable String authorization) {
    KeyHolder found = holder(authorization);
    if (found == null) {
      return others.admission(authorization);
    }
    return found.role() == KeyRole.CLIENT
        ? new Admittance(Verdict.ADMITTED, found.identity())
        : Admittance.of(Verdict.REFUSED);
  }

  @Override
  public Admittance askAdmission(String authorization) {
    return others.askAdmission(authorization);
  }
}
