package io.pointsman.observe.logging;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * Provides Logback to SLF4J, silent until {@link LogSetup} configures it. Logback's own provider
 * would first search every jar for services and configuration files; the launched program has
 * neither. An embedded router uses the provider of its host.
 */
public final class LogProvider implements SLF4JServiceProvider {
  /** The newest API version that Logback 1.5 supports; SLF4J checks it. */
  private static final String API_VERSION = "2.0.99";

  private final LoggerContext context = new LoggerContext();
  private final IMarkerFactory markers = new BasicMarkerFactory();
  private final LogbackMDCAdapter mdc = new LogbackMDCAdapter();

  /** Called by SLF4J. */
  public LogProvider() {}

  /** Makes SLF4J use this provider; no effect after the first logger was created. */
  public static void use() {
    // Otherwise SLF4J reports the choice of this provider on standard error.
    System.setProperty("slf4j.internal.verbosity", "WARN");
    System.setProperty(LoggerFactory.PROVIDER_PROPERTY_KEY, LogProvider.class.getName());
  }

  @Override
  public void initialize() {
    context.setName("default");
    context.setMDCAdapter(mdc);
    NoConfigurator.silence(context);
    context.start();
  }

  @Override
  public ILoggerFactory getLoggerFactory() {
    return context;
  }

  @Override
  public IMarkerFactory getMarkerFactory() {
    return markers;
  }

  @Override
  public MDCAdapter getMDCAdapter() {
    return mdc;
  }

  @Override
  public String getRequestedApiVersion() {
    return API_VERSION;
  }
}
