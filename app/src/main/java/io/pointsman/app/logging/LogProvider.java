package io.pointsman.app.logging;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * Gives SLF4J a Logback that is silent until {@link LogSetup} sets it up. Logback's own provider
 * would look for its services and configuration files in every jar first; the launched program has
 * neither. A router that is embedded keeps the provider of its host.
 */
public final class LogProvider implements SLF4JServiceProvider {
  /** The newest API version that Logback 1.5 is written against, as SLF4J has it checked. */
  private static final String API_VERSION = "2.0.99";

  private final LoggerContext context = new LoggerContext();
  private final IMarkerFactory markers = new BasicMarkerFactory();
  private final LogbackMDCAdapter mdc = new LogbackMDCAdapter();

  /** Called by SLF4J. */
  public LogProvider() {}

  /** Has SLF4J take this provider; without effect once a logger was made. */
  public static void use() {
    // Or it tells on standard error that it does as it is told.
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
