package io.pointsman.api.admin;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReloadApiTest {
  private static final String PATH = "/config/reload";

  private final ReloadApi reloads = new ReloadApi();
  private final LocalRoutes routes = routes();

  private LocalRoutes routes() {
    LocalRoutes.Builder builder = LocalRoutes.builder();
    reloads.addTo(builder);
    return builder.build();
  }

  private LocalResponse call() throws Exception {
    return requireNonNull(requireNonNull(routes.at(PATH)).forMethod("POST"))
        .handle(new LocalRequest("POST", PATH, "", Map.of(), new byte[0], "r"));
  }

  @Test
  void aReloadNamesTheKeysThatChanged() throws Exception {
    reloads.action(() -> new ReloadApi.ReloadOutcome(true, List.of("policy"), List.of()));
    assertThat(call().status()).isEqualTo(200);
    assertThat(AdminFixture.text(call()))
        .isEqualTo("{\"reloaded\":true,\"changed\":[\"policy\"],\"problems\":[]}");
  }

  @Test
  void aRefusedReloadNamesTheReasons() throws Exception {
    assertThat(call().status()).isEqualTo(409);
    reloads.action(
        () -> ReloadApi.ReloadOutcome.refused(List.of("port: changed", "polcy: unknown")));
    assertThat(call().status()).isEqualTo(409);
    assertThat(AdminFixture.json(call()).path("problems")).hasSize(2);
  }
}
