package io.pointsman.proxy;

import io.pointsman.engine.deferral.Deferral;
import io.pointsman.proxy.admission.Admissions;
import io.pointsman.proxy.admission.DrainGate;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.body.BodyDecoder;
import io.pointsman.proxy.local.AllowedHosts;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.loop.LiveParts;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.quota.ClientLimiter;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.proxy.retry.Backoff;
import io.pointsman.proxy.retry.FaultRecords;
import io.pointsman.proxy.settings.Cors;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.stored.ResponseOwners;
import io.pointsman.proxy.stored.StoredSearches;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** Makes the state that all event loops share from the settings. */
final class ServerContexts {
  /**
   * Divisor of the limit on buffered bodies, for bodies on the heap. By default the heap has half
   * the size of direct memory.
   */
  private static final int HEAP_SHARE = 4;

  private static final int STORED_RESPONSES = 100_000;

  private ServerContexts() {}

  /** The context of a server that starts. */
  static ServerContext create(ProxySettings settings, ProxyContext context) {
    LimitSettings limits = settings.limits();
    BodyBudget bodies = new BodyBudget(limits.maxBufferedTotal());
    LiveParts live =
        live(
            settings,
            new Access(context.paths(), context.callers()),
            context,
            admissions(settings, context),
            deferral(settings, context),
            requestIds(settings, context));
    return new ServerContext(
        live,
        context.engine(),
        context.listener(),
        context.tracer(),
        context.prompts(),
        context.edits(),
        context.ticker(),
        new FaultRecords(settings.retry().poison(), context.ticker()),
        new ClientLimiter(context.ticker()),
        new ResponseOwners(
            STORED_RESPONSES,
            new StoredSearches(limits.clients().searchesPerSecond(), context.ticker())),
        new DrainGate(),
        bodies,
        new BodyBudget(limits.maxBufferedTotal() / HEAP_SHARE),
        new BodyDecoder(bodies, Runtime.getRuntime().availableProcessors()),
        context.router());
  }

  /** True if clients may have certificates that are checked. */
  private static boolean certificates(ProxySettings by) {
    return !by.listen().tls().clientCaFile().isEmpty();
  }

  private static AllowedHosts hosts(ListenSettings listen) {
    InetAddress address = new InetSocketAddress(listen.host(), 0).getAddress();
    boolean loopback = address != null && address.isLoopbackAddress();
    return AllowedHosts.of(listen.hostNames(), listen.host(), loopback);
  }

  /**
   * Access to the router.
   *
   * @param paths the paths that the router answers itself
   * @param callers check of clients' keys
   */
  record Access(ServedPaths paths, CallerCheck callers) {}

  /**
   * A context with other values of the settings that can change at run time. Parts with unchanged
   * settings are the same objects, so waiting requests stay in their queues.
   *
   * @param old the context with the settings {@code before}
   */
  static ServerContext changed(
      ServerContext old,
      ProxySettings before,
      ProxySettings next,
      Access access,
      ProxyContext context) {
    boolean sameQueues = next.admission().equals(before.admission());
    boolean sameDeferral = next.deferral().equals(before.deferral());
    boolean sameHeaders = next.headers().equals(before.headers());
    LiveParts live = old.live();
    return old.with(
        live(
            next,
            access,
            context,
            sameQueues ? live.admissions() : admissions(next, context),
            sameDeferral ? live.deferral() : deferral(next, context),
            sameHeaders ? live.requestIds() : requestIds(next, context)));
  }

  private static LiveParts live(
      ProxySettings by,
      Access access,
      ProxyContext context,
      Admissions admissions,
      Deferral deferral,
      RequestIds requestIds) {
    return new LiveParts(
        access.paths,
        access.callers,
        certificates(by),
        hosts(by.listen()),
        by.limits(),
        by.timeouts(),
        by.headers(),
        new Cors(by.cors(), access.paths.all()),
        by.retry(),
        new Backoff(by.retry(), context.random()),
        admissions,
        deferral,
        requestIds,
        by.sseKeepalive());
  }

  private static Admissions admissions(ProxySettings by, ProxyContext context) {
    return new Admissions(by.admission(), context.ticker());
  }

  private static Deferral deferral(ProxySettings by, ProxyContext context) {
    return new Deferral(context.engine(), by.deferral(), context.ticker());
  }

  private static RequestIds requestIds(ProxySettings by, ProxyContext context) {
    return new RequestIds(by.headers().requestIdHeaders(), context.random());
  }

  /** Sets the limits of the parts that a context shares with the contexts before it. */
  static void limit(ServerContext made, ProxySettings settings) {
    made.bodies().limit(settings.limits().maxBufferedTotal());
    made.localBodies().limit(settings.limits().maxBufferedTotal() / HEAP_SHARE);
    made.owners().searches().limit(settings.limits().clients().searchesPerSecond());
    made.faults().bodies().use(settings.retry().poison());
  }
}
