package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.AuthInfo;
import io.fabric8.kubernetes.api.model.NamedAuthInfo;
import io.fabric8.kubernetes.api.model.NamedContext;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.OAuthTokenProvider;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.pointsman.engine.env.LogText;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bearer token in a file that the kubeconfig names ({@code tokenFile}). It is read for each
 * request to the API, because such tokens are rotated; requests are rare. If the file cannot be
 * read, the last token stays in use. Thread-safe.
 */
final class TokenFile implements OAuthTokenProvider {
  private static final Logger log = LoggerFactory.getLogger(TokenFile.class);

  private final Path file;
  private volatile String last = "";

  TokenFile(Path file) {
    this.file = file;
  }

  /**
   * The token file of the current context's user; null if it has none. A relative path begins at
   * the directory of its kubeconfig.
   *
   * @param kubeconfigs files of the configuration; the first one with the user counts
   */
  static @Nullable TokenFile of(Config config, Collection<String> kubeconfigs) {
    NamedContext context = config.getCurrentContext();
    String user = context == null || context.getContext() == null ? null : userOf(context);
    if (user == null) {
      return null;
    }
    for (String name : kubeconfigs) {
      Path kubeconfig = Path.of(name);
      AuthInfo found = Files.isReadable(kubeconfig) ? find(kubeconfig, user) : null;
      if (found != null) {
        String file = found.getTokenFile();
        return file == null || file.isBlank()
            ? null
            : new TokenFile(kubeconfig.toAbsolutePath().resolveSibling(file));
      }
    }
    return null;
  }

  private static @Nullable String userOf(NamedContext context) {
    return context.getContext().getUser();
  }

  private static @Nullable AuthInfo find(Path kubeconfig, String user) {
    try (InputStream in = Files.newInputStream(kubeconfig)) {
      var content = Serialization.unmarshal(in, io.fabric8.kubernetes.api.model.Config.class);
      for (NamedAuthInfo each : content.getUsers()) {
        if (user.equals(each.getName())) {
          return each.getUser();
        }
      }
    } catch (IOException e) {
      log.warn("cannot read {}: {}", kubeconfig, LogText.of(e));
    }
    return null;
  }

  @Override
  public String getToken() {
    try {
      String token = Files.readString(file).strip();
      if (!token.isEmpty()) {
        last = token;
      }
    } catch (IOException e) {
      log.warn("kubeconfig: tokenFile cannot be read: {}", LogText.of(e));
    }
    return last;
  }
}
