package io.pointsman.control.discovery;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.DiscoverySettings.DnsName;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DnsWorkersTest {
  private static final WorkerSpec LIKE =
      new WorkerSpec(
          "name:80", "http://name:80", Role.DECODE, Set.of("m"), -1, 7, Map.of("zone", "z"));

  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final WorkerSources sources = new WorkerSources(fleet);
  private final DiscoveryTally tally = new DiscoveryTally();
  private final Known dns = new Known();

  /** A name server with one answer; null if it fails. */
  private static final class Known implements DnsLookup {
    private @Nullable Answer answer = new Answer(List.of(), UNKNOWN);
    private final List<String> asked = new ArrayList<>();

    private Answer answer(String question) throws IOException {
      asked.add(question);
      if (answer == null) {
        throw new IOException("SERVFAIL");
      }
      return answer;
    }

    @Override
    public Answer addresses(String name) throws IOException {
      return answer("A " + name);
    }

    @Override
    public Answer services(String name) throws IOException {
      return answer("SRV " + name);
    }

    @Override
    public void close() {}
  }

  private DnsWorkers following(DnsName... names) {
    return new DnsWorkers(List.of(names), dns, sources, clock::nanos, tally);
  }

  private static DnsName addresses(String name) {
    return new DnsName(name, 8000, false, Duration.ofSeconds(30), 3, LIKE);
  }

  private void known(long ttl, String... hosts) {
    dns.answer =
        new DnsLookup.Answer(
            List.of(hosts).stream().map(each -> new DnsLookup.Target(each, 0)).toList(), ttl);
  }

  private void next(DnsWorkers workers) {
    clock.advance(Duration.ofSeconds(30));
    workers.look();
  }

  private List<String> ids() {
    return fleet.snapshot().workers().stream().map(Worker::id).sorted().toList();
  }

  @Test
  void eachAddressIsAWorkerWithTheGivenProperties() {
    known(DnsLookup.UNKNOWN, "10.0.0.1", "fd00::1");
    following(addresses("engines.test")).look();
    assertThat(ids()).containsExactly("10.0.0.1:8000", "[fd00::1]:8000");
    WorkerSpec spec = fleet.snapshot().workers().getFirst().spec();
    assertThat(spec.role()).isEqualTo(Role.DECODE);
    assertThat(spec.models()).containsExactly("m");
    assertThat(spec.maxInFlight()).isEqualTo(7);
    assertThat(spec.labels()).isEqualTo(Map.of("zone", "z", "name", "engines.test"));
    assertThat(dns.asked).containsExactly("A engines.test");
  }

  @Test
  void workersOfNamesThatStayAreTakenOver() {
    known(DnsLookup.UNKNOWN, "10.0.0.1");
    DnsWorkers before = following(addresses("a.test"), addresses("b.test"));
    before.look();
    Worker kept = fleet.snapshot().workers().getFirst();
    before.close();
    dns.answer = null;

    DnsWorkers after = following(addresses("c.test"), addresses("a.test")).after(before);
    after.look();
    assertThat(fleet.snapshot().workers()).containsExactly(kept);
    assertThat(tally.failing(WorkerSource.DNS)).isEqualTo(2);

    known(DnsLookup.UNKNOWN, "10.0.0.9");
    next(before);
    assertThat(ids()).as("the closed lookups change nothing").containsExactly("10.0.0.1:8000");
    after.close();
    DnsWorkers _ = following(addresses("c.test")).after(after);
    assertThat(ids()).isEmpty();
  }

  @Test
  void workersTakenOverHaveTheNewProperties() {
    known(DnsLookup.UNKNOWN, "10.0.0.1");
    DnsWorkers before = following(addresses("a.test"));
    before.look();
    before.close();
    DnsName changed =
        new DnsName("a.test", 8000, false, Duration.ofSeconds(30), 3, LIKE.withMaxInFlight(9));

    DnsWorkers _ = following(changed).after(before);

    assertThat(fleet.snapshot().workers().getFirst().spec().maxInFlight()).isEqualTo(9);
  }

  @Test
  void eachServiceRecordIsAWorkerAtItsPort() {
    dns.answer =
        new DnsLookup.Answer(
            List.of(new DnsLookup.Target("p1.test", 8000), new DnsLookup.Target("p1.test", 8001)),
            5);
    following(new DnsName("_http._tcp.engines", 0, true, Duration.ofSeconds(30), 3, LIKE)).look();
    assertThat(ids()).containsExactly("p1.test:8000", "p1.test:8001");
    assertThat(dns.asked).containsExactly("SRV _http._tcp.engines");
  }

  @Test
  void anAnswerIsRenewedWhenItsTimeEnds() {
    known(5, "10.0.0.1");
    DnsWorkers workers = following(addresses("engines.test"));
    workers.look();
    clock.advance(Duration.ofSeconds(4));
    workers.look();
    assertThat(dns.asked).hasSize(1);
    clock.advance(Duration.ofSeconds(1));
    workers.look();
    assertThat(dns.asked).hasSize(2);
  }

  @Test
  void aLongTimeOfAnAnswerDoesNotExceedTheInterval() {
    known(3600, "10.0.0.1");
    DnsWorkers workers = following(addresses("engines.test"));
    workers.look();
    clock.advance(Duration.ofSeconds(29));
    workers.look();
    assertThat(dns.asked).hasSize(1);
    clock.advance(Duration.ofSeconds(1));
    workers.look();
    assertThat(dns.asked).hasSize(2);
  }

  @Test
  void aFailedLookupKeepsTheWorkersAndIsReported() {
    known(DnsLookup.UNKNOWN, "10.0.0.1");
    DnsWorkers workers = following(addresses("engines.test"));
    workers.look();
    dns.answer = null;
    for (int i = 0; i < 5; i++) {
      next(workers);
    }
    assertThat(ids()).containsExactly("10.0.0.1:8000");
    assertThat(tally.failing(WorkerSource.DNS)).isEqualTo(1);
    assertThat(tally.failures(WorkerSource.DNS)).isEqualTo(5);
    known(DnsLookup.UNKNOWN, "10.0.0.2");
    next(workers);
    assertThat(ids()).containsExactly("10.0.0.1:8000", "10.0.0.2:8000");
    assertThat(tally.failing(WorkerSource.DNS)).isZero();
  }

  @Test
  void aNameWithoutRecordsLosesItsWorkersAfterSomeAnswers() {
    known(DnsLookup.UNKNOWN, "10.0.0.1");
    DnsWorkers workers = following(addresses("engines.test"));
    workers.look();
    known(DnsLookup.UNKNOWN);
    next(workers);
    next(workers);
    assertThat(ids()).containsExactly("10.0.0.1:8000");
    next(workers);
    assertThat(ids()).isEmpty();
  }

  @Test
  void failuresBetweenAnswersDoNotCount() {
    known(DnsLookup.UNKNOWN, "10.0.0.1");
    DnsWorkers workers = following(addresses("engines.test"));
    workers.look();
    known(DnsLookup.UNKNOWN);
    next(workers);
    dns.answer = null;
    next(workers);
    next(workers);
    known(DnsLookup.UNKNOWN);
    next(workers);
    assertThat(ids()).containsExactly("10.0.0.1:8000");
    next(workers);
    assertThat(ids()).isEmpty();
  }

  @Test
  void anAddressOfTwoNamesIsOneWorkerUntilBothDropIt() {
    known(DnsLookup.UNKNOWN, "10.0.0.1");
    DnsWorkers workers = following(addresses("one.test"), addresses("two.test"));
    workers.look();
    assertThat(ids()).containsExactly("10.0.0.1:8000");
  }

  @Test
  void aWorkerOfTheConfigurationIsShared() {
    WorkerSpec configured = WorkerSpec.of("http://10.0.0.1:8000");
    sources.add(WorkerSource.CONFIGURATION, List.of(configured));
    known(DnsLookup.UNKNOWN, "10.0.0.1");
    following(addresses("engines.test")).look();
    sources.release(WorkerSource.CONFIGURATION, configured.id());
    assertThat(ids()).containsExactly("10.0.0.1:8000");
  }

  @Test
  void aFullFleetIsReported() {
    FleetSettings usual = FleetSettings.DEFAULTS;
    Fleet small =
        new Fleet(
            new FleetSettings(1, usual.health(), usual.breaker(), usual.stall()), clock::nanos);
    known(DnsLookup.UNKNOWN, "10.0.0.1", "10.0.0.2");
    new DnsWorkers(
            List.of(addresses("engines.test")), dns, new WorkerSources(small), clock::nanos, tally)
        .look();
    assertThat(tally.failing(WorkerSource.DNS)).isEqualTo(1);
  }
}
