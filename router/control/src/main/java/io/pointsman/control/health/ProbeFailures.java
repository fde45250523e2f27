package io.pointsman.control.health;

import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.WorkerSpec;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import java.time.Duration;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Reasons of failed probes in words, each with the expected result. */
final class ProbeFailures {
  private static final int MOST_CAUSES = 8;

  private ProbeFailures() {}

  /**
   * A worker that is a router, and sends requests back.
   *
   * @param own true if it is this router
   */
  static String loop(boolean own) {
    return own
        ? "the worker is this router itself (expected: an engine; check the list of workers, and"
            + " that no selector or DNS name of the engines matches the router)"
        : "the worker is a router whose only healthy workers lead back to this router (expected: an"
            + " engine, or a router with engines of its own)";
  }

  /**
   * A response with another status.
   *
   * @param base URL to which the path of the probe was appended
   */
  static String status(int status, String base, ProbeSettings settings) {
    return statusOf(status, base, settings) + " (expected: 2xx" + hint(status, base) + ")";
  }

  /** Two responses with other statuses, because the worker's URL ends in {@code /v1}. */
  static String statuses(int first, String base, int second, String url, ProbeSettings settings) {
    return statusOf(first, base, settings)
        + ", "
        + statusOf(second, url, settings)
        + " (expected: 2xx from one of them"
        + hint(first, base)
        + ")";
  }

  private static String statusOf(int status, String base, ProbeSettings settings) {
    return "status " + status + " of GET " + path(base, settings);
  }

  private static String path(String base, ProbeSettings settings) {
    String path = URI.create(base).getRawPath();
    return (path == null ? "" : path) + settings.endpoint();
  }

  private static String hint(int status, String base) {
    return switch (status) {
      // Some servers answer so if a client does not begin TLS.
      case 400 -> base.startsWith("http:") ? "; https:// in the URL if the engine uses TLS" : "";
      case 401, 403 -> "; set health.api-key, or accept the status with health.accepted-statuses";
      case 404, 405 -> "; check the path of the URL and health.endpoint";
      default -> status / 100 == 3 ? "; redirects are not followed" : "";
    };
  }

  /** No complete response. */
  static String reason(Exception failure, WorkerSpec spec, ProbeSettings settings) {
    boolean secure = spec.url().startsWith("https:");
    HostPort at = HostPort.ofUrl(spec.url());
    String address = at.host() + ":" + at.portOr(secure ? 443 : 80);
    SSLException tls = cause(failure, SSLException.class);
    if (tls != null) {
      return tls(tls, address);
    }
    String message = LogText.of(String.valueOf(failure.getMessage()));
    return switch (failure) {
      case ConnectTimeout _ ->
          "no connection to " + address + " within " + shown(settings.timeout());
      case SocketTimeoutException _ ->
          "timed out: no response to GET "
              + path(spec.base(), settings)
              + " within "
              + shown(settings.timeout())
              + " (health.timeout)";
      case UnknownHostException _ -> "host name not known: " + message;
      case ConnectException _ -> "no connection to " + address + ": " + message;
      case NotHttp other -> notHttp(other, address);
      default -> "no response from " + address + ": " + message + expected(secure);
    };
  }

  private static String notHttp(NotHttp response, String address) {
    if (response.isTls()) {
      return address + " speaks TLS (expected: https:// in the URL, or a server without TLS)";
    }
    if (response.isHttp2()) {
      return address + " speaks only HTTP/2 (expected: a server that speaks HTTP/1.1 too)";
    }
    return address
        + " does not speak HTTP: it sent \""
        + LogText.of(response.received())
        + "\" (expected: the port of the engine's HTTP server)";
  }

  /** The likely cause of a connection that ends without a response. */
  private static String expected(boolean secure) {
    return secure
        ? " (expected: an HTTP/1.1 server)"
        : " (expected: an HTTP/1.1 server; https:// in the URL if the engine uses TLS)";
  }

  private static String tls(SSLException failure, String address) {
    CertificateException certificate = cause(failure, CertificateException.class);
    if (certificate != null) {
      return "TLS: certificate of "
          + address
          + " not accepted: "
          + message(certificate)
          + " (expected: one of a trusted CA for this host name; see engine-tls.ca-file)";
    }
    String message = message(failure);
    return message.contains("Unsupported or unrecognized SSL message")
        ? "TLS: "
            + address
            + " does not speak TLS (expected: an https server, or http:// in the URL)"
        : "TLS: handshake with "
            + address
            + " failed: "
            + message
            + " (expected: a TLS server; see engine-tls, or http:// in the URL)";
  }

  /** The message of the innermost cause, which names the problem. */
  private static String message(Throwable failure) {
    Throwable last = failure;
    for (int i = 0; i < MOST_CAUSES && last.getCause() != null; i++) {
      last = last.getCause();
    }
    return LogText.of(String.valueOf(last.getMessage()));
  }

  private static <T extends Throwable> @Nullable T cause(Throwable failure, Class<T> type) {
    Throwable at = failure;
    for (int i = 0; i < MOST_CAUSES && at != null; i++) {
      if (type.isInstance(at)) {
        return type.cast(at);
      }
      at = at.getCause();
    }
    return null;
  }

  private static String shown(Duration time) {
    long millis = time.toMillis();
    return millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
  }
}
