package io.pointsman.proxy.handler;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RouterId;
import java.util.List;

/** Workers that are routers which a request has already passed. They would refuse the request. */
public final class PassedRouters {
  private PassedRouters() {}

  /** The workers that must not get the request; empty if it passed no router. */
  public static List<Worker> of(RequestHead head, Fleet fleet) {
    String via = head.viaRouters();
    return via == null
        ? List.of()
        : fleet.snapshot().workers().stream().filter(worker -> passed(via, worker)).toList();
  }

  private static boolean passed(String via, Worker worker) {
    return RouterId.passed(via, worker.probes().router());
  }
}
