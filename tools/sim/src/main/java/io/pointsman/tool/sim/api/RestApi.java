package io.pointsman.tool.sim.api;

import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;

/**
 * Sleep and pause in vLLM's form. Work that arrives meanwhile waits until the engine wakes up;
 * requests that run go on to their end.
 */
final class RestApi {
  private final Runnable resumed;
  private boolean asleep;
  private boolean paused;

  /**
   * @param resumed runs when the engine works again
   */
  RestApi(Runnable resumed) {
    this.resumed = resumed;
  }

  void addTo(SimRoutes routes) {
    routes.plain("POST", "/sleep", this::sleep);
    routes.plain("POST", "/wake_up", this::wakeUp);
    routes.plain("POST", "/pause", this::pause);
    routes.plain("POST", "/resume", this::resume);
    routes.plain(
        "GET",
        "/is_sleeping",
        exchange -> exchange.respond(200, SimJson.object().put("is_sleeping", asleep)));
    routes.plain(
        "GET",
        "/is_paused",
        exchange -> exchange.respond(200, SimJson.object().put("is_paused", paused)));
  }

  /** Returns true while new work waits. */
  boolean rests() {
    return asleep || paused;
  }

  private void sleep(SimExchange exchange) {
    asleep = true;
    exchange.respond(200, SimJson.object().put("status", "sleeping").put("level", 1));
  }

  private void wakeUp(SimExchange exchange) {
    asleep = false;
    exchange.respond(200, SimJson.object().put("status", "awake").putNull("tags"));
    workAgain();
  }

  private void pause(SimExchange exchange) {
    paused = true;
    exchange.respond(200, SimJson.object().put("status", "paused"));
  }

  private void resume(SimExchange exchange) {
    paused = false;
    exchange.respond(200, SimJson.object().put("status", "resumed"));
    workAgain();
  }

  private void workAgain() {
    if (!rests()) {
      resumed.run();
    }
  }
}
