package io.pointsman.proxy.tls;

import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslProvider;
import io.pointsman.engine.env.LogText;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Implementation of TLS for connections of the event loops. Other connections of the router, for
 * example its probes, always use that of the JDK.
 */
public enum TlsProvider {
  /** BoringSSL if it can be loaded, else the JDK. */
  AUTO,
  /** BoringSSL, the library netty-tcnative. */
  OPENSSL,
  /** The JDK. */
  JDK;

  private static final Logger log = LoggerFactory.getLogger(TlsProvider.class);

  /** The choice is logged once per process, at the first use of TLS. */
  private static final AtomicBoolean logged = new AtomicBoolean();

  /** Curves by their size in bits with which BoringSSL signs. */
  private static final List<Integer> OWN_CURVES = List.of(256, 384, 521);

  /** Curves with which BoringSSL accepts signatures of the other side. */
  private static final List<Integer> PEER_CURVES = List.of(256, 384);

  /**
   * The provider for Netty. The first call loads the library, unless this is {@link #JDK}.
   *
   * @throws IllegalArgumentException if this is {@link #OPENSSL}, which cannot be loaded
   */
  public SslProvider chosen() {
    ProviderChoice choice = choose(this == JDK ? null : OpenSsl.unavailabilityCause());
    if (!logged.getAndSet(true)) {
      log.info("TLS: {}", choice.reason);
    }
    return choice.provider;
  }

  /**
   * The provider for a context with these certificates. BoringSSL uses keys of RSA and of the usual
   * curves only.
   *
   * @param group group of the configuration, for messages
   * @param own the certificate of this side; null if it has none
   * @param authorities certificates of the CAs of the other side. Its own certificates, which are
   *     not known yet, usually have keys of the same kind
   * @throws IllegalArgumentException if this is {@link #OPENSSL}, which cannot be used
   */
  public SslProvider chosen(
      String group, @Nullable X509Certificate own, List<X509Certificate> authorities) {
    SslProvider provider = chosen();
    if (provider == SslProvider.JDK) {
      return provider;
    }
    if (own != null && !usable(own.getPublicKey(), OWN_CURVES)) {
      String reason =
          "BoringSSL cannot use the certificate of "
              + own.getSubjectX500Principal().getName()
              + ": its key is "
              + kind(own.getPublicKey());
      if (this == OPENSSL) {
        throw new IllegalArgumentException(
            "tls.provider: openssl (expected: auto or jdk, because " + reason + ")");
      }
      log.info("{}: TLS of the JDK, because {}", group, LogText.of(reason));
      return SslProvider.JDK;
    }
    for (X509Certificate authority : authorities) {
      if (this == AUTO && !usable(authority.getPublicKey(), PEER_CURVES)) {
        log.info(
            "{}: TLS of the JDK, because BoringSSL accepts no key of the kind of {}: {}",
            group,
            LogText.of(authority.getSubjectX500Principal().getName()),
            kind(authority.getPublicKey()));
        return SslProvider.JDK;
      }
    }
    return provider;
  }

  private static boolean usable(PublicKey key, List<Integer> curves) {
    return switch (key) {
      case ECPublicKey curve -> curves.contains(bits(curve));
      case RSAPublicKey rsa -> rsa.getAlgorithm().equals("RSA"); // not RSASSA-PSS
      default -> false;
    };
  }

  private static int bits(ECPublicKey key) {
    return key.getParams().getCurve().getField().getFieldSize();
  }

  private static String kind(PublicKey key) {
    return key instanceof ECPublicKey curve ? "EC of " + bits(curve) + " bits" : key.getAlgorithm();
  }

  /**
   * A provider and the reason for the choice.
   *
   * @param provider reference-counted for OpenSSL: no finalizer holds up the collector
   */
  record ProviderChoice(SslProvider provider, String reason) {}

  /**
   * @param missing why the library cannot be loaded; null if it is loaded, or not needed
   */
  ProviderChoice choose(@Nullable Throwable missing) {
    return switch (this) {
      case JDK -> new ProviderChoice(SslProvider.JDK, "the JDK (tls.provider is jdk)");
      case OPENSSL -> {
        if (missing != null) {
          throw new IllegalArgumentException(
              "tls.provider: openssl (expected: auto or jdk, because the library cannot be loaded: "
                  + reason(missing)
                  + ")",
              missing);
        }
        yield new ProviderChoice(SslProvider.OPENSSL_REFCNT, "BoringSSL (tls.provider is openssl)");
      }
      case AUTO ->
          missing == null
              ? new ProviderChoice(
                  SslProvider.OPENSSL_REFCNT, "BoringSSL (tls.provider is auto, the library loads)")
              : new ProviderChoice(
                  SslProvider.JDK,
                  "the JDK (tls.provider is auto, BoringSSL cannot be loaded: "
                      + reason(missing)
                      + ")");
    };
  }

  /** The innermost cause: the outer ones only name classes of Netty. */
  private static String reason(Throwable missing) {
    Throwable last = missing;
    for (Throwable cause = last.getCause(); cause != null; cause = last.getCause()) {
      last = cause;
    }
    return last.toString();
  }
}
