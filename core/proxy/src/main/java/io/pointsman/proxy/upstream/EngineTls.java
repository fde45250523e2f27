package io.pointsman.proxy.upstream;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.util.NetUtil;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.tls.ServerTls;
import io.pointsman.proxy.tls.SharedContext;
import io.pointsman.proxy.tls.TlsProvider;
import java.io.File;
import java.io.IOException;
import java.net.Socket;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS to workers, for all connections to them: requests, hand-overs, probes and other calls of the
 * router. Safe for use by several threads.
 */
public final class EngineTls implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(EngineTls.class);

  /** Maximum number of contexts that are kept. */
  private static final int MOST_CONTEXTS = 10_000;

  private final EngineTlsSettings ofAll;
  private final String systemCaFile;
  private final TlsProvider provider;
  private final Map<EngineTlsSettings, Contexts> contexts = new ConcurrentHashMap<>();

  /** Settings of workers with values of their own, by host and port. */
  private volatile Map<String, EngineTlsSettings> byAddress = Map.of();

  /**
   * The contexts of one group of workers.
   *
   * @param jdk for sockets; for event loops too if there is no other
   * @param openSsl for event loops; null: the JDK's
   */
  private record Contexts(SSLContext jdk, @Nullable SharedContext openSsl) {
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
      if (openSsl != null) {
        openSsl.close();
      }
    }
  }

  /**
   * @param systemCaFile PEM file with CA certificates in place of the JVM's, as {@code
   *     SSL_CERT_FILE} names it; empty: none
   * @param provider implementation of TLS for connections of event loops
   */
  public EngineTls(EngineTlsSettings ofAll, String systemCaFile, TlsProvider provider) {
    this.ofAll = ofAll;
    this.provider = provider;
    this.systemCaFile = systemCaFile;
  }

  /** TLS of the JDK with its CA certificates. */
  public static EngineTls ofSystem() {
    return new EngineTls(EngineTlsSettings.DEFAULTS, "", TlsProvider.JDK);
  }

  /**
   * Reads the files for these workers, and logs which certificates will not be verified.
   *
   * @throws IllegalArgumentException if a file cannot be used
   */
  public void prepare(Collection<WorkerSpec> workers) {
    if (!ofAll.equals(EngineTlsSettings.DEFAULTS)) {
      Contexts _ = contexts(ofAll);
    }
    if (ofAll.insecureSkipVerify()) {
      log.warn("certificates of engines are not verified: engine-tls.insecure-skip-verify is set");
    }
    for (WorkerSpec worker : workers) {
      EngineTlsSettings own = of(worker);
      if (secure(worker)) {
        Contexts _ = contexts(own);
      }
      if (own.insecureSkipVerify() && !ofAll.insecureSkipVerify()) {
        log.warn("the certificate of worker {} is not verified", worker.id());
      }
    }
  }

  /** Records the present workers. Their addresses select their settings. */
  public void follow(Collection<WorkerSpec> workers) {
    Map<String, EngineTlsSettings> own = new HashMap<>();
    for (WorkerSpec worker : workers) {
      EngineTlsSettings settings = secure(worker) ? usable(worker) : ofAll;
      if (!settings.equals(ofAll)) {
        HostPort at = HostPort.ofUrl(worker.url());
        own.put(address(at.bareHost(), at.portOr(443)), settings);
      }
    }
    byAddress = Map.copyOf(own);
  }

  /** The settings of a worker; those of all workers if its labels are invalid. */
  private EngineTlsSettings usable(WorkerSpec worker) {
    try {
      return of(worker);
    } catch (IllegalArgumentException e) {
      log.warn("{}: label {}", worker.id(), LogText.of(e));
      return ofAll;
    }
  }

  private EngineTlsSettings of(WorkerSpec worker) {
    return ofAll.with(worker.labels());
  }

  private static boolean secure(WorkerSpec worker) {
    return worker.url().startsWith("https:");
  }

  private static String address(String host, int port) {
    return host + ":" + port;
  }

  /** A handler for a connection to a worker. */
  SslHandler handler(WorkerSpec worker, String host, int port, ByteBufAllocator allocator) {
    EngineTlsSettings settings = of(worker);
    SSLEngine engine = null;
    while (engine == null) {
      engine = contexts(settings).engine(allocator, name(settings, host), port);
    }
    engine.setSSLParameters(parameters(settings, engine.getSSLParameters()));
    return new SslHandler(engine);
  }

  /**
   * A socket over a connection to a worker or another server.
   *
   * @param host name or address in the URL, without brackets
   */
  public SSLSocket socket(Socket plain, String host, int port) throws IOException {
    EngineTlsSettings settings = byAddress.getOrDefault(address(host, port), ofAll);
    SSLSocket socket =
        (SSLSocket)
            contexts(settings)
                .jdk
                .getSocketFactory()
                .createSocket(plain, name(settings, host), port, true);
    socket.setSSLParameters(parameters(settings, socket.getSSLParameters()));
    return socket;
  }

  private static String name(EngineTlsSettings settings, String host) {
    return settings.serverName().isEmpty() ? host : settings.serverName();
  }

  private static SSLParameters parameters(EngineTlsSettings settings, SSLParameters parameters) {
    if (!settings.insecureSkipVerify()) {
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
    }
    String name = settings.serverName();
    if (!name.isEmpty() && NetUtil.createInetAddressFromIpAddressString(name) == null) {
      parameters.setServerNames(List.of(new SNIHostName(name)));
    }
    return parameters;
  }

  /** Frees the memory of the contexts when the last connection has closed. */
  @Override
  public void close() {
    for (EngineTlsSettings each : List.copyOf(contexts.keySet())) {
      Contexts removed = contexts.remove(each);
      if (removed != null) {
        removed.close();
      }
    }
  }

  private Contexts contexts(EngineTlsSettings settings) {
    Contexts present = contexts.get(settings);
    if (present != null) {
      return present;
    }
    if (contexts.size() >= MOST_CONTEXTS) {
      close();
    }
    return contexts.computeIfAbsent(settings, this::build);
  }

  private Contexts build(EngineTlsSettings settings) {
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
