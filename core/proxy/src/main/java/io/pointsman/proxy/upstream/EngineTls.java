package io.pointsman.proxy.upstream;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.NetUtil;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.proxy.upstream.EngineContexts.Contexts;
import java.io.IOException;
import java.net.Socket;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLEngine;
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

  /** Maximum number of contexts that a connection tries while other threads close them. */
  private static final int MOST_TRIES = 8;

  /** The lock of the files: held while they are read again, and while a change begins or ends. */
  private final Object files = new Object();

  /**
   * The change that is not complete; null without one. Both its configurations share contexts, so
   * no file is read again until its end. Guarded by {@link #files}.
   */
  private @Nullable Change open;

  /** The contexts in use; replaced with other settings. */
  private volatile EngineContexts contexts;

  /** The present workers. */
  private volatile List<WorkerSpec> followed = List.of();

  /** Settings of workers with values of their own, by host and port. */
  private volatile Map<String, EngineTlsSettings> byAddress = Map.of();

  /**
   * @param systemCaFile PEM file with CA certificates in place of the JVM's, as {@code
   *     SSL_CERT_FILE} names it; empty: none
   * @param provider implementation of TLS for connections of event loops
   */
  public EngineTls(EngineTlsSettings ofAll, String systemCaFile, TlsProvider provider) {
    contexts = new EngineContexts(ofAll, systemCaFile, provider);
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
    EngineContexts now = contexts;
    EngineTlsSettings ofAll = now.ofAll;
    for (EngineTlsSettings each : needed(ofAll, workers)) {
      Contexts _ = now.of(each);
    }
    if (ofAll.insecureSkipVerify()) {
      log.warn("certificates of engines are not verified: engine-tls.insecure-skip-verify is set");
    }
    for (WorkerSpec worker : workers) {
      EngineTlsSettings own = ofAll.with(worker.labels());
      if (own.insecureSkipVerify() && !ofAll.insecureSkipVerify()) {
        log.warn("the certificate of worker {} is not verified", worker.id());
      }
    }
  }

  /** The settings that these workers need. */
  private static Set<EngineTlsSettings> needed(
      EngineTlsSettings ofAll, Collection<WorkerSpec> workers) {
    Set<EngineTlsSettings> needed = new LinkedHashSet<>();
    if (!ofAll.equals(EngineTlsSettings.DEFAULTS)) {
      needed.add(ofAll);
    }
    for (WorkerSpec worker : workers) {
      EngineTlsSettings own = ofAll.with(worker.labels());
      if (secure(worker)) {
        needed.add(own);
      }
    }
    return needed;
  }

  /** Other settings with their files read, before and while they are in use. */
  public final class Change {
    private final EngineContexts before;
    private final EngineContexts after;

    private Change(EngineContexts before, EngineContexts after) {
      this.before = before;
      this.after = after;
    }

    /** Uses the settings for later connections. Open connections stay as they are. */
    public void apply() {
      put(after);
    }

    /** Uses the earlier settings again, or drops a change that was not applied. */
    public void undo() {
      synchronized (files) {
        put(before);
        after.closeExcept(before);
        ended(this);
      }
    }

    /** Releases the earlier settings; the change stays. */
    public void finish() {
      synchronized (files) {
        before.closeExcept(after);
        ended(this);
      }
    }
  }

  @SuppressWarnings("ReferenceEquality") // a later change may have taken its place
  private void ended(Change change) {
    if (open == change) {
      open = null;
    }
  }

  /**
   * Reads the files for other settings, and again the files with a changed content. Changes nothing
   * that is in use. The caller undoes or finishes the change; until then {@link #refresh} does
   * nothing.
   *
   * @param next the settings of workers without values of their own
   * @param workers workers that must have usable files
   * @param provider implementation of TLS for connections of event loops
   * @throws IllegalArgumentException if a file cannot be used
   */
  public Change prepared(
      EngineTlsSettings next, Collection<WorkerSpec> workers, TlsProvider provider) {
    synchronized (files) {
      EngineContexts before = contexts;
      EngineContexts after = before.with(next, provider);
      Set<EngineTlsSettings> used = new LinkedHashSet<>();
      followed.forEach(each -> used.add(usable(next, each)));
      try {
        after.fill(before, used, needed(next, workers));
      } catch (IllegalArgumentException e) {
        after.closeExcept(before);
        throw e;
      }
      Change change = new Change(before, after);
      open = change;
      return change;
    }
  }

  private synchronized void put(EngineContexts next) {
    contexts = next;
    select();
  }

  /**
   * Reads the files again. Later connections use their contents; if new files cannot be used, the
   * earlier ones stay. Does nothing during a change. Blocks.
   */
  public void refresh() {
    synchronized (files) {
      if (open == null) {
        contexts.refresh();
      }
    }
  }

  /** Records the present workers. Their addresses select their settings. */
  public synchronized void follow(Collection<WorkerSpec> workers) {
    followed = List.copyOf(workers);
    select();
  }

  private void select() {
    EngineTlsSettings ofAll = contexts.ofAll;
    Map<String, EngineTlsSettings> own = new HashMap<>();
    for (WorkerSpec worker : followed) {
      EngineTlsSettings settings = secure(worker) ? usable(ofAll, worker) : ofAll;
      if (!settings.equals(ofAll)) {
        HostPort at = HostPort.ofUrl(worker.url());
        own.put(address(at.bareHost(), at.portOr(443)), settings);
      }
    }
    byAddress = Map.copyOf(own);
  }

  /** The settings of a worker; those of all workers if its labels are invalid. */
  private static EngineTlsSettings usable(EngineTlsSettings ofAll, WorkerSpec worker) {
    try {
      return ofAll.with(worker.labels());
    } catch (IllegalArgumentException e) {
      log.warn("{}: label {}", worker.id(), LogText.of(e));
      return ofAll;
    }
  }

  private static boolean secure(WorkerSpec worker) {
    return worker.url().startsWith("https:");
  }

  private static String address(String host, int port) {
    return host + ":" + port;
  }

  /**
   * A handler for a connection to a worker.
   *
   * @throws IllegalStateException if other threads close all contexts that it tries
   */
  SslHandler handler(WorkerSpec worker, String host, int port, ByteBufAllocator allocator) {
    for (int tried = 0; tried < MOST_TRIES; tried++) {
      EngineContexts now = contexts;
      EngineTlsSettings settings = now.ofAll.with(worker.labels());
      // Null if another thread has just replaced the context.
      SSLEngine engine = now.of(settings).engine(allocator, name(settings, host), port);
      if (engine != null) {
        engine.setSSLParameters(parameters(settings, engine.getSSLParameters()));
        return new SslHandler(engine);
      }
    }
    throw new IllegalStateException("engine-tls: closed (expected: open while workers are used)");
  }

  /**
   * A socket over a connection to a worker or another server.
   *
   * @param host name or address in the URL, without brackets
   */
  public SSLSocket socket(Socket plain, String host, int port) throws IOException {
    EngineContexts now = contexts;
    EngineTlsSettings settings = byAddress.getOrDefault(address(host, port), now.ofAll);
    SSLSocket socket =
        (SSLSocket)
            now.of(settings)
                .jdk()
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
    contexts.clear();
  }
}
