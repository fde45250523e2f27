package io.pointsman.control.discovery;

import io.pointsman.config.settings.DiscoverySettings.DnsName;
import io.pointsman.control.health.Rounds;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows names in DNS. Each address or SRV record of a name is a worker. It leaves after some
 * answers in a row without it, because answers can be incomplete. After a failed lookup all workers
 * stay. Each name has its own thread; a slow server delays no other name.
 */
public final class DnsWorkers implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DnsWorkers.class);

  private static final WorkerSource SELF = WorkerSource.DNS;
  private static final Duration LOOK = Duration.ofSeconds(1);

  /** Longest pause after a failed lookup. */
  private static final Duration RETRY = Duration.ofSeconds(5);

  /** Maximum number of workers of one name. */
  static final int MOST_TARGETS = 4096;

  private final WorkerSources sources;
  private final DnsLookup lookup;
  private final Ticker ticker;
  private final DiscoveryTally tally;
  private final List<Followed> names;
  private final List<Rounds> rounds = new ArrayList<>();

  /** Guarded by this. */
  private boolean closed;

  public DnsWorkers(
      List<DnsName> names,
      DnsLookup lookup,
      WorkerSources sources,
      Ticker ticker,
      DiscoveryTally tally) {
    this.lookup = lookup;
    this.sources = sources;
    this.ticker = ticker;
    this.tally = tally;
    this.names = names.stream().map(each -> new Followed(each, ticker.nanos())).toList();
  }

  /**
   * Takes over the workers of names that closed lookups had too, with the properties of these
   * names. Workers of other names leave. Call it before the start.
   */
  public synchronized DnsWorkers after(DnsWorkers before) {
    for (Followed each : names) {
      before.urls(each.name).forEach(url -> each.members.put(url, new Member(at(each.name, url))));
    }
    follow();
    before.names.forEach(each -> tally.forget(SELF, each.name.shown()));
    return this;
  }

  /** The URLs of the workers of a name; none if it was not looked up. */
  private synchronized List<String> urls(DnsName name) {
    return names.stream()
        .filter(each -> each.name.shown().equals(name.shown()) && each.name.srv() == name.srv())
        .flatMap(each -> each.members.keySet().stream())
        .toList();
  }

  /** A name, and its workers by URL. */
  private static final class Followed {
    private final DnsName name;

    /** Belongs to the thread of the name. */
    private long dueAt;

    /** Guarded by the outer object. */
    private final Map<String, Member> members = new LinkedHashMap<>();

    /** True after an answer without records. Belongs to the thread of the name. */
    private boolean empty;

    Followed(DnsName name, long now) {
      this.name = name;
      dueAt = now;
    }
  }

  private static final class Member {
    private final WorkerSpec spec;
    private int misses;

    Member(WorkerSpec spec) {
      this.spec = spec;
    }
  }

  /** Starts the lookups; closing this ends them. */
  public DnsWorkers start() {
    names.forEach(each -> rounds.add(Rounds.start("dns-discovery", LOOK, () -> look(each))));
    return this;
  }

  /** Looks up each name that is due. Blocks. */
  void look() {
    names.forEach(this::look);
  }

  private void look(Followed each) {
    if (ticker.nanos() - each.dueAt < 0) {
      return;
    }
    DnsName name = each.name;
    Duration pause;
    try {
      DnsLookup.Answer answer =
          name.srv() ? lookup.services(name.name()) : lookup.addresses(name.name());
      pause = pause(name.interval(), answer.ttlSeconds());
      tally.looked(SELF, name.shown(), null);
      reportEmpty(each, answer.targets().isEmpty());
      follow(each, answer.targets());
    } catch (IOException e) {
      pause = least(name.interval(), RETRY);
      tally.looked(SELF, name.shown(), "the lookup failed: " + e.getMessage());
    }
    each.dueAt = ticker.nanos() + pause.toNanos();
  }

  private static Duration pause(Duration longest, long ttlSeconds) {
    return ttlSeconds == DnsLookup.UNKNOWN
        ? longest
        : least(longest, Duration.ofSeconds(Math.max(1, ttlSeconds)));
  }

  private static Duration least(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  private static void reportEmpty(Followed each, boolean empty) {
    if (empty && !each.empty) {
      log.warn(
          "{}: no records; its workers leave after {} such answers",
          each.name.shown(),
          each.name.tries());
    }
    each.empty = empty;
  }

  private synchronized void follow(Followed each, List<DnsLookup.Target> targets) {
    if (closed) {
      return;
    }
    Map<String, WorkerSpec> wanted = new LinkedHashMap<>();
    for (DnsLookup.Target target : targets) {
      if (wanted.size() < MOST_TARGETS) {
        WorkerSpec spec = at(each.name, target);
        wanted.put(spec.url(), spec);
      }
    }
    each.members.forEach(
        (url, member) -> member.misses = wanted.containsKey(url) ? 0 : member.misses + 1);
    each.members.values().removeIf(member -> member.misses >= each.name.tries());
    wanted.forEach((url, spec) -> each.members.computeIfAbsent(url, _ -> new Member(spec)));
    follow();
  }

  /** Makes the workers of all names those of the fleet. Call it with the lock. */
  private void follow() {
    Map<String, WorkerSpec> all = new LinkedHashMap<>();
    for (Followed one : names) {
      one.members.values().forEach(member -> all.putIfAbsent(member.spec.id(), member.spec));
    }
    String problem = null;
    try {
      sources.follow(SELF, all.values(), false);
    } catch (IllegalStateException | IllegalArgumentException e) {
      problem = e.getMessage();
    }
    tally.looked(SELF, "discovery.dns", problem);
  }

  private static WorkerSpec at(DnsName name, DnsLookup.Target target) {
    String host = target.host().contains(":") ? "[" + target.host() + "]" : target.host();
    String url = "http://" + host + ":" + (name.srv() ? target.port() : name.port());
    return at(name, url);
  }

  private static WorkerSpec at(DnsName name, String url) {
    WorkerSpec like = name.worker();
    String rank = like.rank() == WorkerSpec.NO_RANK ? "" : "@" + like.rank();
    Map<String, String> labels = new HashMap<>(like.labels());
    labels.put("name", name.name());
    return new WorkerSpec(
        WorkerSpec.idOf(url) + rank,
        url,
        like.role(),
        like.models(),
        like.rank(),
        like.maxInFlight(),
        labels);
  }

  /** Ends the lookups. The workers stay. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    rounds.forEach(Rounds::close);
    lookup.close();
  }
}
