package io.pointsman.app.logging;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.core.spi.ContextAwareBase;

/**
 * Keeps Logback from looking for configuration files: the log is set up by {@link LogSetup} and
 * silent until then. Found by Logback as a service.
 */
public final class NoConfigurator extends ContextAwareBase implements Configurator {
  @Override
  public ExecutionStatus configure(LoggerContext context) {
    context.getLogger("ROOT").setLevel(ch.qos.logback.classic.Level.OFF);
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }
}
