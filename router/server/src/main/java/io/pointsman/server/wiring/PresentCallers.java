package io.pointsman.server.wiring;

import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.local.CallerCheck;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The check of clients that is in force, for listeners that are opened once. A change of the
 * configuration replaces the check.
 *
 * @param present the check in force
 */
record PresentCallers(Supplier<CallerCheck> present) implements CallerCheck {
  @Override
  public Verdict known(@Nullable String authorization) {
    return present.get().known(authorization);
  }

  @Override
  public Verdict ask(String authorization) {
    return present.get().ask(authorization);
  }

  @Override
  public Admittance admission(@Nullable String authorization) {
    return present.get().admission(authorization);
  }

  @Override
  public Admittance askAdmission(String authorization) {
    return present.get().askAdmission(authorization);
  }

  @Override
  public boolean confirms() {
    return present.get().confirms();
  }

  @Override
  public boolean identifies() {
    return present.get().identifies();
  }

  @Override
  public @Nullable KeyHolder holder(@Nullable String authorization) {
    return present.get().holder(authorization);
  }
}
