package io.pointsman.proxy.tls;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.ReferenceCountedOpenSslEngine;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.pointsman.engine.env.FileProblem;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS 1.2 and 1.3 of one listener. {@link #refresh} reads the files again; open connections keep
 * their certificate. If new files cannot be used, the earlier ones stay.
 *
 * <p>It is one class because reading, comparing and replacing the files must not be interrupted by
 * another refresh. Thread-safe.
 */
public final class ServerTls implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ServerTls.class);

  private static final String BEGIN = "-----BEGIN CERTIFICATE-----";
  private static final String END = "-----END CERTIFICATE-----";

  private static final String[] VERSIONS = {"TLSv1.3", "TLSv1.2"};

  /** Group of the configuration with the settings, for messages. */
  private final String group;

  private final ServerTlsSettings settings;
  private final boolean http2;
  private final TlsProvider provider;

  /** Maximum number of computations that wait. The connection of a further one closes. */
  private static final int MOST_WAITING = 1024;

  private static final long THREAD_SECONDS = 10;

  /**
   * Runs the computations of handshakes, which would hold up an event loop. They have threads of
   * their own: a flood of handshakes must not hold up virtual threads, for example probes.
   */
  private final Executor handshakes = handshakes();

  private volatile Loaded loaded;

  /** True if no further connection can begin. */
  private volatile boolean closed;

  /** Contents of files that could not be used, to log each once. Guarded by this. */
  private Contents refused = Contents.NONE;

  /** The contents of the files. */
  private record Contents(List<byte[]> files) {
    static final Contents NONE = new Contents(List.of());
    static final Contents MISSING = new Contents(List.of(new byte[0]));

    boolean same(Contents other) {
      if (files.size() != other.files.size()) {
        return false;
      }
      for (int i = 0; i < files.size(); i++) {
        if (!Arrays.equals(files.get(i), other.files.get(i))) {
          return false;
        }
      }
      return true;
    }
  }

  /**
   * @param context context for handlers
   * @param conditions conditions of connections with this context
   * @param jdk context for servers of the JDK; null if they cannot use it
   */
  private record Loaded(
      Contents contents,
      SharedContext context,
      ConnectionConditions conditions,
      @Nullable SSLContext jdk) {}

  /** The handler of a connection, with the conditions under which the connection is accepted. */
  record Handshake(SslHandler handler, ConnectionConditions conditions) {}

  private static Executor handshakes() {
    int threads = Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            threads,
            threads,
            THREAD_SECONDS,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(MOST_WAITING),
            new DefaultThreadFactory("pointsman-tls", true));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  private ServerTls(String group, ServerTlsSettings settings, boolean http2, TlsProvider provider) {
    this.group = group;
    this.settings = settings;
    this.http2 = http2;
    this.provider = provider;
    loaded = load(contents());
  }

  /** Logs the file of the certificate, because it comes into use. */
  void announce() {
    log.info("{}: TLS with the certificate of {}", group, settings.certificateFile());
  }

  /**
   * Reads the files.
   *
   * @param group group of the configuration with the settings, for messages
   * @param http2 true to offer HTTP/2 to clients
   * @param provider implementation of TLS; {@link #context()} needs {@link TlsProvider#JDK}
   * @throws IllegalArgumentException if they cannot be used
   */
  public static ServerTls open(
      String group, ServerTlsSettings settings, boolean http2, TlsProvider provider) {
    return new ServerTls(group, settings, http2, provider);
  }

  /** TLS of a client's connection; null after the close. */
  @Nullable Handshake handshake(ByteBufAllocator allocator) {
    while (true) {
      Loaded now = loaded;
      SslHandler handler = now.context.with(context -> context.newHandler(allocator, handshakes));
      if (handler != null) {
        handler.setHandshakeTimeout(settings.handshakeTimeout().toMillis(), TimeUnit.MILLISECONDS);
        return new Handshake(handler, now.conditions);
      }
      // Another thread has just replaced the context, or has closed it.
      if (closed) {
        return null;
      }
    }
  }

  /** The conditions of later connections. */
  ConnectionConditions conditions() {
    return loaded.conditions;
  }

  /**
   * A context for a server of the JDK. Each of its engines has the present certificate.
   *
   * @throws IllegalStateException unless the provider is {@link TlsProvider#JDK}
   */
  public SSLContext context() {
    return new CurrentContext(
        () -> {
          SSLContext present = loaded.jdk;
          if (present == null) {
            throw new IllegalStateException("provider: " + provider + " (expected: JDK)");
          }
          return present;
        },
        handshakes);
  }

  /**
   * Makes a second handshake of a connection fail. With TLS 1.2 a client could ask for them without
   * end, each at the cost of a signature. BoringSSL refuses them itself.
   */
  public static void refuseRenegotiation(SSLEngine engine) {
    if (!(engine instanceof ReferenceCountedOpenSslEngine)
        && engine.getSession().getProtocol().equals("TLSv1.2")) {
      engine.setEnabledCipherSuites(new String[0]);
    }
  }

  /** The present context. */
  SharedContext present() {
    return loaded.context;
  }

  /**
   * Parameters for the connections of such a server: versions, ciphers and certificates of clients.
   * They stay the same if the files change.
   */
  public SSLParameters parameters() {
    SSLContext context = context();
    SSLParameters parameters = context.getDefaultSSLParameters();
    parameters.setProtocols(VERSIONS.clone());
    Set<String> supported = Set.of(context.getSupportedSSLParameters().getCipherSuites());
    parameters.setCipherSuites(
        Http2SecurityUtil.CIPHERS.stream().filter(supported::contains).toArray(String[]::new));
    boolean asks = !settings.clientCaFile().isEmpty();
    boolean required = requiresClients();
    parameters.setNeedClientAuth(asks && required);
    if (asks && !required) {
      parameters.setWantClientAuth(true);
    }
    return parameters;
  }

  /** Reads the files again. Later connections use their contents. May block. */
  public synchronized void refresh() {
    if (closed) {
      return;
    }
    Contents found;
    try {
      found = contents();
    } catch (IllegalArgumentException e) {
      refuse(Contents.MISSING, e);
      return;
    }
    if (found.same(loaded.contents) || found.same(refused)) {
      return;
    }
    try {
      Loaded before = loaded;
      loaded = load(found);
      before.context.close();
      refused = Contents.NONE;
      log.info("{}: TLS continues with the changed files of {}", group, settings.certificateFile());
    } catch (IllegalArgumentException e) {
      refuse(found, e);
    }
  }

  /** Frees the memory of the context when the last connection has closed. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      loaded.context.close();
    }
  }

  private void refuse(Contents found, IllegalArgumentException why) {
    boolean known = found.same(refused);
    refused = found;
    if (!known) {
      log.warn("{}: TLS keeps the earlier certificate: {}", group, why.getMessage());
    }
  }

  private Contents contents() {
    byte[] certificate = bytes(group + ".certificate-file", settings.certificateFile());
    byte[] key = bytes(group + ".key-file", settings.fileOfKey());
    return settings.clientCaFile().isEmpty()
        ? new Contents(List.of(certificate, key))
        : new Contents(
            List.of(certificate, key, bytes(group + ".client-ca-file", settings.clientCaFile())));
  }

  static byte[] bytes(String name, String file) {
    try {
      return Files.readAllBytes(Path.of(file));
    } catch (IOException | InvalidPathException e) {
      throw new IllegalArgumentException(
          name + ": " + file + ": " + FileProblem.of(e) + " (expected: a readable PEM file)", e);
    }
  }

  private Loaded load(Contents contents) {
    X509Certificate[] authorities =
        contents.files.size() > 2
            ? certificates(
                group + ".client-ca-file", settings.clientCaFile(), contents.files.get(2))
            : new X509Certificate[0];
    SslContext built = build(contents, authorities);
    return new Loaded(
        contents,
        new SharedContext(built),
        new ConnectionConditions(
            true, Set.copyOf(List.of(authorities)), authorities.length > 0 && requiresClients()),
        built instanceof JdkSslContext ofJdk ? ofJdk.context() : null);
  }

  private boolean requiresClients() {
    return settings.clientCertificates() == ClientCertificates.REQUIRED;
  }

  private SslContext build(Contents contents, X509Certificate[] authorities) {
    X509Certificate[] chain =
        certificates(
            group + ".certificate-file", settings.certificateFile(), contents.files.get(0));
    PrivateKey key;
    try {
      key = PemKey.read(contents.files.get(1), chain[0].getPublicKey(), settings.keyPassword());
    } catch (GeneralSecurityException | IOException | IllegalArgumentException e) {
      throw new IllegalArgumentException(
          group
              + ".key-file: "
              + settings.fileOfKey()
              + ": "
              + e.getMessage()
              + " (expected: a PEM file with the key of the certificate)",
          e);
    }
    SslContextBuilder builder =
        SslContextBuilder.forServer(key, chain)
            .sslProvider(provider.chosen(group, chain[0], List.of(authorities)))
            .protocols(VERSIONS)
            .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
            .applicationProtocolConfig(offers(http2));
    if (authorities.length > 0) {
      builder
          .trustManager(authorities)
          .clientAuth(requiresClients() ? ClientAuth.REQUIRE : ClientAuth.OPTIONAL);
    }
    try {
      return builder.build();
    } catch (IOException e) {
      throw new IllegalArgumentException(group + ": " + e.getMessage(), e);
    }
  }

  private static ApplicationProtocolConfig offers(boolean http2) {
    List<String> names =
        http2
            ? List.of(ApplicationProtocolNames.HTTP_2, ApplicationProtocolNames.HTTP_1_1)
            : List.of(ApplicationProtocolNames.HTTP_1_1);
    return new ApplicationProtocolConfig(
        Protocol.ALPN,
        SelectorFailureBehavior.NO_ADVERTISE,
        SelectedListenerFailureBehavior.ACCEPT,
        names);
  }

  /**
   * The certificate of a server in a file that may also have its chain and its key.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static X509Certificate certificate(String file) {
    return certificates("tls.certificate-file", file, bytes("tls.certificate-file", file))[0];
  }

  /**
   * The certificates in a file.
   *
   * @param name key of the configuration with the file, for messages
   * @throws IllegalArgumentException if there is none
   */
  public static List<X509Certificate> certificates(String name, String file) {
    return List.of(certificates(name, file, bytes(name, file)));
  }

  static X509Certificate[] certificates(String name, String file, byte[] bytes) {
    try {
      X509Certificate[] found =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(certificatesOnly(bytes)))
              .stream()
              .map(X509Certificate.class::cast)
              .toArray(X509Certificate[]::new);
      if (found.length > 0) {
        return found;
      }
    } catch (GeneralSecurityException e) {
      throw unusable(name, file, e);
    }
    throw unusable(name, file, null);
  }

  private static IllegalArgumentException unusable(
      String name, String file, @Nullable Exception why) {
    return new IllegalArgumentException(
        name + ": " + file + " (expected: a PEM file with certificates)", why);
  }

  /** The certificates of a file that may also contain a key. */
  private static byte[] certificatesOnly(byte[] bytes) {
    String text = new String(bytes, ISO_8859_1);
    StringBuilder out = new StringBuilder();
    int from = text.indexOf(BEGIN);
    while (from >= 0) {
      int end = text.indexOf(END, from);
      if (end < 0) {
        break;
      }
      out.append(text, from, end + END.length()).append('\n');
      from = text.indexOf(BEGIN, end);
    }
    return out.toString().getBytes(ISO_8859_1);
  }
}
