package io.pointsman.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Paths of the router for web pages of any origin. */
class PathsForAnyOriginTest {
  private final AdminFixture admin = new AdminFixture();

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/liveness",
        "/readiness",
        "/health",
        "/livez",
        "/readyz",
        "/v1/models",
        "/v1/models/m",
        "/-/healthz",
        "/-/routes"
      })
  void healthAndModelsAreOpen(String path) {
    assertThat(admin.forAnyOrigin(path)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/workers",
        "/workers/http://a:1",
        "/add_worker",
        "/remove_worker",
        "/list_workers",
        "/get_loads",
        "/flush_cache",
        "/finish_session",
        "/scheduling/diagnostics"
      })
  void pathsForOperatorsAreClosed(String path) {
    assertThat(admin.forAnyOrigin(path)).isFalse();
  }
}
