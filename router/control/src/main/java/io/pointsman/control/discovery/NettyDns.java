package io.pointsman.control.discovery;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.dns.DefaultDnsQuestion;
import io.netty.handler.codec.dns.DefaultDnsRecordDecoder;
import io.netty.handler.codec.dns.DnsRawRecord;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.resolver.DefaultHostsFileEntriesResolver;
import io.netty.resolver.ResolvedAddressTypes;
import io.netty.resolver.dns.DnsErrorCauseException;
import io.netty.resolver.dns.DnsNameResolver;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import io.netty.resolver.dns.DnsServerAddressStreamProviders;
import io.netty.resolver.dns.NoopDnsCache;
import io.netty.resolver.dns.NoopDnsCnameCache;
import io.netty.resolver.dns.SingletonDnsServerAddressStreamProvider;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Lookups by Netty's resolver, without a cache. It asks the servers of {@code /etc/resolv.conf} and
 * reports the TTL. It distinguishes a name without records from servers without an answer. The
 * JVM's resolver does not. Names in the hosts file count, too. Thread-safe.
 */
public final class NettyDns implements DnsLookup {
  private static final Path RESOLV_CONF = Path.of("/etc/resolv.conf");

  /** Answers that a name has no such records. */
  private static final Set<DnsResponseCode> NOTHING =
      Set.of(DnsResponseCode.NXDOMAIN, DnsResponseCode.NXRRSET);

  private static final int SHORT = 2;
  private static final int LEAST_SRV_BYTES = 7;

  private final EventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(
          1, new DefaultThreadFactory("dns-discovery", true), NioIoHandler.newFactory());
  private final DnsNameResolver resolver;
  private final SearchPath search;
  private final Duration patience;

  /**
   * @param patience maximum wait for one server
   */
  public NettyDns(Duration patience) {
    this(patience, RESOLV_CONF, null);
  }

  /**
   * @param server the only server; null: those of the system
   */
  NettyDns(Duration patience, Path resolvConf, @Nullable InetSocketAddress server) {
    this.patience = patience;
    search = new SearchPath(resolvConf);
    resolver =
        new DnsNameResolverBuilder(loop.next())
            .datagramChannelType(NioDatagramChannel.class)
            .socketChannelType(NioSocketChannel.class)
            .queryTimeoutMillis(patience.toMillis())
            .resolveCache(NoopDnsCache.INSTANCE)
            .cnameCache(NoopDnsCnameCache.INSTANCE)
            .nameServerProvider(
                server == null
                    ? DnsServerAddressStreamProviders.platformDefault()
                    : new SingletonDnsServerAddressStreamProvider(server))
            .build();
  }

  @Override
  public Answer addresses(String name) throws IOException {
    List<InetAddress> hosts =
        new DefaultHostsFileEntriesResolver().addresses(name, ResolvedAddressTypes.IPV4_PREFERRED);
    if (hosts != null && !hosts.isEmpty()) {
      return new Answer(
          hosts.stream().map(each -> new Target(each.getHostAddress(), 0)).toList(), UNKNOWN);
    }
    return first(name, List.of(DnsRecordType.A, DnsRecordType.AAAA));
  }

  @Override
  public Answer services(String name) throws IOException {
    return first(name, List.of(DnsRecordType.SRV));
  }

  /** The records of the first name of the search path that has some. */
  private Answer first(String name, List<DnsRecordType> types) throws IOException {
    IOException failure = null;
    for (String each : search.names(name)) {
      try {
        Answer answer = records(each, types);
        if (!answer.targets().isEmpty()) {
          return answer;
        }
      } catch (IOException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
    return new Answer(List.of(), UNKNOWN);
  }

  /** The records of all types. One type without an answer does not hide the others. */
  private Answer records(String name, List<DnsRecordType> types) throws IOException {
    List<Target> targets = new ArrayList<>();
    long ttl = Long.MAX_VALUE;
    IOException failure = null;
    for (DnsRecordType type : types) {
      try {
        List<DnsRecord> records = query(name, type);
        for (DnsRecord record : records) {
          Target target = record instanceof DnsRawRecord raw ? target(raw) : null;
          if (target != null) {
            targets.add(target);
            ttl = Math.min(ttl, record.timeToLive());
          }
        }
        records.forEach(ReferenceCountUtil::release);
      } catch (IOException e) {
        failure = e;
      }
    }
    if (failure != null && targets.isEmpty()) {
      throw failure;
    }
    return new Answer(targets, targets.isEmpty() ? UNKNOWN : ttl);
  }

  private List<DnsRecord> query(String name, DnsRecordType type) throws IOException {
    Future<List<DnsRecord>> asked = resolver.resolveAll(new DefaultDnsQuestion(name, type));
    try {
      // The resolver asks each server in turn, each with its own timeout.
      if (!asked.await(patience.toMillis() * 4, TimeUnit.MILLISECONDS)) {
        asked.cancel(true);
        throw new IOException(name + ": no answer from a DNS server");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(name + ": DNS lookup interrupted", e);
    }
    if (asked.isSuccess()) {
      return asked.getNow();
    }
    Throwable cause = asked.cause();
    if (saysNothing(cause)) {
      return List.of();
    }
    throw new IOException(reason(cause), cause);
  }

  /** True if a server has said that there are no such records, rather than nothing or an error. */
  private static boolean saysNothing(Throwable failure) {
    if (failure instanceof UnknownHostException && failure.getCause() == null) {
      return true; // an answer without records
    }
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (each instanceof DnsErrorCauseException error && NOTHING.contains(error.getCode())) {
        return true;
      }
    }
    return false;
  }

  private static String reason(Throwable cause) {
    Throwable deepest = cause;
    while (deepest.getCause() != null) {
      deepest = deepest.getCause();
    }
    return String.valueOf(deepest.getMessage());
  }

  /** The host and port of a record; null if it is of another type or malformed. */
  private static @Nullable Target target(DnsRawRecord record) throws IOException {
    ByteBuf content = record.content();
    if (record.type().equals(DnsRecordType.SRV)) {
      if (content.readableBytes() < LEAST_SRV_BYTES) {
        return null;
      }
      int port = content.getUnsignedShort(content.readerIndex() + 2 * SHORT);
      ByteBuf name = content.duplicate().skipBytes(3 * SHORT);
      String host = DefaultDnsRecordDecoder.decodeName(name);
      String bare = host.endsWith(".") ? host.substring(0, host.length() - 1) : host;
      return bare.isEmpty() || port == 0 ? null : new Target(bare, port);
    }
    if (record.type().equals(DnsRecordType.A) || record.type().equals(DnsRecordType.AAAA)) {
      byte[] address = new byte[content.readableBytes()];
      content.getBytes(content.readerIndex(), address);
      return new Target(InetAddress.getByAddress(address).getHostAddress(), 0);
    }
    return null;
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // nobody waits for the end
  public void close() {
    resolver.close();
    loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
