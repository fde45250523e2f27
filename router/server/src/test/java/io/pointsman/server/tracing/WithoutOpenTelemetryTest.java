package io.pointsman.server.tracing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.TracingKeys;
import io.pointsman.proxy.Transport;
import io.pointsman.server.wiring.Router;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Without tracing no class of OpenTelemetry is loaded; the test runs without these classes. */
@Timeout(120)
class WithoutOpenTelemetryTest {
  /** The code that runs without OpenTelemetry on its class path. */
  public static final class Run {
    private Run() {}

    private static ConfigValues values(boolean enabled) {
      return new ConfigValues()
          .set(FrontKeys.PORT, 0)
          .set(OperationKeys.METRICS_PORT, 0)
          // A second copy of a native library unregisters the methods of the first when it is
          // unloaded.
          .set(OperationKeys.TRANSPORT, Transport.NIO)
          .set(TracingKeys.ENABLED, enabled);
    }

    /** The status of a request for an unknown model after a change that begins traces. */
    public static String afterAChange() throws Exception {
      PointsmanConfig without = PointsmanConfig.from(values(false));
      try (Router router = Router.start(without, "test")) {
        String failure = "";
        try {
          router.change(without, PointsmanConfig.from(values(true)));
        } catch (IllegalStateException e) {
          failure = String.valueOf(e.getMessage());
        }
        return status(router) + " " + failure;
      }
    }

    /** The status of a request for an unknown model. */
    public static int withTracing(boolean enabled) throws Exception {
      try (Router router = Router.start(PointsmanConfig.from(values(enabled)), "test")) {
        return status(router);
      }
    }

    private static int status(Router router) throws Exception {
      try (HttpClient http = HttpClient.newHttpClient()) {
        HttpRequest request =
            HttpRequest.newBuilder(URI.create(router.url() + "/v1/completions"))
                .POST(HttpRequest.BodyPublishers.ofString("{\"model\":\"m\",\"prompt\":\"p\"}"))
                .build();
        return http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
      }
    }
  }

  private static URLClassLoader loader() throws MalformedURLException {
    List<URL> urls = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      if (!entry.contains("opentelemetry")) {
        urls.add(Path.of(entry).toUri().toURL());
      }
    }
    return new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
  }

  private static Object run(URLClassLoader loader, boolean tracing) throws Exception {
    return loader
        .loadClass(Run.class.getName())
        .getMethod("withTracing", boolean.class)
        .invoke(null, tracing);
  }

  @Test
  void offNeedsNothingOfIt() throws Exception {
    try (URLClassLoader loader = loader()) {
      assertThat(run(loader, false)).isEqualTo(503);
    }
  }

  @Test
  void aChangeThatNeedsItIsRefusedAndTheRouterServes() throws Exception {
    try (URLClassLoader loader = loader()) {
      Object result = loader.loadClass(Run.class.getName()).getMethod("afterAChange").invoke(null);
      assertThat(String.valueOf(result))
          .startsWith("503 configuration: java.lang.NoClassDefFoundError: io/opentelemetry/");
    }
  }

  @Test
  void onNeedsIt() throws Exception {
    try (URLClassLoader loader = loader()) {
      assertThatThrownBy(() -> run(loader, true))
          .isInstanceOf(InvocationTargetException.class)
          .hasRootCauseInstanceOf(ClassNotFoundException.class);
    }
  }
}
