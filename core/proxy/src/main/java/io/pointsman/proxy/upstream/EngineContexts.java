package io.pointsman.proxy.upstream;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.pointsman.engine.env.LogText;
import io.pointsman.proxy.tls.ServerTls;
import io.pointsman.proxy.tls.SharedContext;
import io.pointsman.proxy.tls.TlsProvider;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The contexts of TLS to workers under one configuration, by their settings. Each is built from its
 * files at its first use. Thread-safe.
 */
final class EngineContexts {
  private static final Logger log = LoggerFactory.getLogger(EngineTls.class);

  /** Maximum number of contexts that are kept. */
  private static final int MOST_CONTEXTS = 10_000;

  /** The settings of workers without values of their own. */
  final EngineTlsSettings ofAll;

  private final String systemCaFile;
  private final TlsProvider provider;
  private final Map<EngineTlsSettings, Contexts> contexts = new ConcurrentHashMap<>();

  /** Digests of files that could not be used, to log each once. */
  private final Map<EngineTlsSettings, String> refused = new ConcurrentHashMap<>();

  private volatile boolean closed;

  /** The contexts of one group of workers. Two configurations may share them. */
  static final class Contexts {
    /** Digest of the files' contents. */
    private final String digest;

    private final SSLContext jdk;

    /** For event loops; null: the JDK's. */
    private final @Nullable SharedContext openSsl;

    private final AtomicBoolean closed = new AtomicBoolean();

    private Contexts(String digest, SSLContext jdk, @Nullable SharedContext openSsl) {
      this.digest = digest;
      this.jdk = jdk;
      this.openSsl = openSsl;
    }

    /** For sockets; for event loops too if there is no other. */
    SSLContext jdk() {
      return jdk;
    }

    /** A new engine; null if another thread has just closed the contexts. */
    @Nullable SSLEngine engine(ByteBufAllocator allocator, String name, int port) {
      if (openSsl != null) {
        return openSsl.with(context -> context.newEngine(allocator, name, port));
      }
      SSLEngine engine = jdk.createSSLEngine(name, port);
      engine.setUseClientMode(true);
      return engine;
    }

    void close() {
      if (openSsl != null && closed.compareAndSet(false, true)) {
        openSsl.close();
      }
    }
  }

  EngineContexts(EngineTlsSettings ofAll, String systemCaFile, TlsProvider provider) {
    this.ofAll = ofAll;
    this.systemCaFile = systemCaFile;
    this.provider = provider;
  }

  /** Without contexts, for other settings of workers without values of their own. */
  EngineContexts with(EngineTlsSettings next, TlsProvider nextProvider) {
    return new EngineContexts(next, systemCaFile, nextProvider);
  }

  /**
   * The contexts for these settings.
   *
   * @throws IllegalArgumentException if a file cannot be used
   */
  Contexts of(EngineTlsSettings settings) {
    Contexts present = contexts.get(settings);
    if (present != null && !present.closed.get()) {
      return present;
    }
    if (present != null) {
      contexts.remove(settings, present);
    }
    if (contexts.size() >= MOST_CONTEXTS) {
      clear();
    }
    Contexts built =
        contexts.computeIfAbsent(settings, each -> build(each, digest(each, new HashMap<>())));
    if (closed) {
      clear();
    }
    return built;
  }

  /**
   * Makes the contexts for these settings. Those of {@code before} are taken over if their files
   * have not changed.
   *
   * @param used settings of present workers; a context of {@code before} stays if its changed files
   *     cannot be used
   * @param required settings that must have usable files
   * @throws IllegalArgumentException if a file of a required one cannot be used
   */
  void fill(EngineContexts before, Set<EngineTlsSettings> used, Set<EngineTlsSettings> required) {
    Map<String, String> read = new HashMap<>();
    for (EngineTlsSettings each : required) {
      String now = digest(each, read);
      Contexts kept = before.contexts.get(each);
      boolean same = kept != null && kept.digest.equals(now) && before.provider == provider;
      contexts.put(each, kept != null && same ? kept : build(each, now));
    }
    for (EngineTlsSettings each : used) {
      Contexts kept = before.contexts.get(each);
      // With another provider they are built at their first use.
      if (kept != null && !contexts.containsKey(each) && before.provider == provider) {
        contexts.put(each, renewed(each, kept, digest(each, read)));
      }
    }
  }

  /** Closes the contexts that the other configuration does not have. */
  @SuppressWarnings("ReferenceEquality") // tests for the same object
  void closeExcept(EngineContexts other) {
    closed = true;
    contexts.forEach(
        (settings, each) -> {
          if (contexts.remove(settings, each) && other.contexts.get(settings) != each) {
            each.close();
          }
        });
  }

  /** Closes all contexts; the memory of each is free after its last connection. */
  void clear() {
    for (EngineTlsSettings each : List.copyOf(contexts.keySet())) {
      Contexts removed = contexts.remove(each);
      if (removed != null) {
        removed.close();
      }
    }
  }

  /**
   * Reads the files again. Later connections use their contents; if new files cannot be used, the
   * earlier contexts stay. One thread at a time.
   */
  @SuppressWarnings("ReferenceEquality") // tests for the same object
  void refresh() {
    Map<String, String> read = new HashMap<>();
    refused.keySet().retainAll(contexts.keySet());
    contexts.forEach(
        (settings, each) -> {
          Contexts now = renewed(settings, each, digest(settings, read));
          if (now != each) {
            boolean replaced = contexts.replace(settings, each, now);
            (replaced ? each : now).close();
          }
        });
  }

  /** The contexts by changed files; those of before if nothing changed, or if it is unusable. */
  private Contexts renewed(EngineTlsSettings settings, Contexts before, String digest) {
    if (digest.equals(before.digest) || digest.equals(refused.get(settings))) {
      return before;
    }
    try {
      Contexts built = build(settings, digest);
      refused.remove(settings);
      log.info("engine-tls: later connections to engines use the changed files");
      return built;
    } catch (IllegalArgumentException e) {
      refused.put(settings, digest);
      log.warn("engine-tls: the earlier files stay in use: {}", LogText.of(e));
      return before;
    }
  }

  /**
   * The digest of the contents of all files of these settings.
   *
   * @param read digests of files that are known already, by name
   */
  private String digest(EngineTlsSettings settings, Map<String, String> read) {
    List<String> files = new ArrayList<>(List.of(settings.certificateFile(), settings.keyFile()));
    if (!settings.insecureSkipVerify()) {
      files.add(settings.caFile().isEmpty() ? systemCaFile : settings.caFile());
    }
    StringBuilder all = new StringBuilder();
    for (String file : files) {
      all.append(file.isEmpty() ? "" : read.computeIfAbsent(file, EngineContexts::digest));
      all.append(' ');
    }
    return all.toString();
  }

  private static String digest(String file) {
    try {
      byte[] bytes = Files.readAllBytes(Path.of(file));
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (IOException | InvalidPathException _) {
      return "unreadable";
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  private Contexts build(EngineTlsSettings settings, String digest) {
    SslContextBuilder builder =
        SslContextBuilder.forClient()
            .sslProvider(SslProvider.JDK)
            .endpointIdentificationAlgorithm(null);
    if (settings.insecureSkipVerify()) {
      builder.trustManager(InsecureTrustManagerFactory.INSTANCE);
    } else if (!settings.caFile().isEmpty()) {
      trust(builder, "engine-tls.ca-file", settings.caFile());
    } else if (!systemCaFile.isEmpty()) {
      trustSystemFile(builder);
    }
    if (!settings.certificateFile().isEmpty()) {
      identify(builder, settings);
    }
    try {
      SSLContext jdk = ((JdkSslContext) builder.build()).context();
      SslProvider chosen = provider.chosen("engine-tls", own(settings), authorities(settings));
      return new Contexts(
          digest,
          jdk,
          chosen == SslProvider.JDK
              ? null
              : new SharedContext(builder.sslProvider(chosen).build()));
    } catch (SSLException e) {
      throw new IllegalArgumentException("engine-tls: " + e.getMessage(), e);
    }
  }

  private static @Nullable X509Certificate own(EngineTlsSettings settings) {
    String file = settings.certificateFile();
    return file.isEmpty()
        ? null
        : ServerTls.certificates("engine-tls.certificate-file", file).getFirst();
  }

  /** The configured CAs. Those of the system have keys of many kinds, their servers usual ones. */
  private static List<X509Certificate> authorities(EngineTlsSettings settings) {
    String file = settings.caFile();
    return file.isEmpty() || settings.insecureSkipVerify()
        ? List.of()
        : ServerTls.certificates("engine-tls.ca-file", file);
  }

  private static void trust(SslContextBuilder builder, String name, String file) {
    try {
      builder.trustManager(new File(file));
      log.info("certificates of engines are verified with the CAs of {} ({})", file, name);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          name + ": " + file + " (expected: a PEM file with certificates)", e);
    }
  }

  /** An unusable file in the environment must not keep the router from starting. */
  private void trustSystemFile(SslContextBuilder builder) {
    try {
      trust(builder, "SSL_CERT_FILE", systemCaFile);
    } catch (IllegalArgumentException e) {
      log.warn("{}; the JVM's certificates are trusted", e.getMessage());
    }
  }

  private static void identify(SslContextBuilder builder, EngineTlsSettings settings) {
    String certificate = settings.certificateFile();
    String key = settings.keyFile().isEmpty() ? certificate : settings.keyFile();
    try {
      builder.keyManager(new File(certificate), new File(key));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "engine-tls.certificate-file, key-file: "
              + certificate
              + ", "
              + key
              + " (expected: PEM files with a certificate and its key, in PKCS#8, not encrypted)",
          e);
    }
  }
}
