package io.pointsman.proxy.upstream;

import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.util.NetUtil;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.File;
import java.io.IOException;
import java.net.Socket;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS to workers, for all connections to them: requests, hand-overs, probes and other calls of the
 * router. Safe for use by several threads.
 */
public final class EngineTls {
  private static final Logger log = LoggerFactory.getLogger(EngineTls.class);

  /** Maximum number of contexts that are kept. */
  private static final int MOST_CONTEXTS = 10_000;

  private final EngineTlsSettings ofAll;
  private final String systemCaFile;
  private final Map<EngineTlsSettings, SSLContext> contexts = new ConcurrentHashMap<>();

  /** Settings of workers with values of their own, by host and port. */
  private volatile Map<String, EngineTlsSettings> byAddress = Map.of();

  /**
   * @param systemCaFile PEM file with CA certificates in place of the JVM's, as {@code
   *     SSL_CERT_FILE} names it; empty: none
   */
  public EngineTls(EngineTlsSettings ofAll, String systemCaFile) {
    this.ofAll = ofAll;
    this.systemCaFile = systemCaFile;
  }

  /** TLS with the system's CA certificates. */
  public static EngineTls ofSystem() {
    return new EngineTls(EngineTlsSettings.DEFAULTS, "");
  }

  /**
   * Reads the files for these workers, and logs which certificates will not be verified.
   *
   * @throws IllegalArgumentException if a file cannot be used
   */
  public void prepare(Collection<WorkerSpec> workers) {
    if (!ofAll.equals(EngineTlsSettings.DEFAULTS)) {
      SSLContext _ = context(ofAll);
    }
    if (ofAll.insecureSkipVerify()) {
      log.warn("certificates of engines are not verified: engine-tls.insecure-skip-verify is set");
    }
    for (WorkerSpec worker : workers) {
      EngineTlsSettings own = of(worker);
      if (secure(worker)) {
        SSLContext _ = context(own);
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
  SslHandler handler(WorkerSpec worker, String host, int port) {
    EngineTlsSettings settings = of(worker);
    SSLEngine engine = context(settings).createSSLEngine(name(settings, host), port);
    engine.setUseClientMode(true);
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
            context(settings)
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

  private SSLContext context(EngineTlsSettings settings) {
    SSLContext present = contexts.get(settings);
    if (present != null) {
      return present;
    }
    if (contexts.size() >= MOST_CONTEXTS) {
      contexts.clear();
    }
    return contexts.computeIfAbsent(settings, this::build);
  }

  private SSLContext build(EngineTlsSettings settings) {
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
      return ((JdkSslContext) builder.build()).context();
    } catch (SSLException e) {
      throw new IllegalArgumentException("engine-tls: " + e.getMessage(), e);
    }
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
