package io.pointsman.control.kvevents;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.config.settings.KvEventLimits;
import io.pointsman.config.settings.ZmqAddress;
import io.pointsman.control.health.HostNames;
import io.pointsman.control.kvevents.KvEventTally.Count;
import io.pointsman.control.kvevents.SequenceTrack.Verdict;
import io.pointsman.control.kvevents.wire.BatchReader;
import io.pointsman.control.kvevents.wire.EventBatch;
import io.pointsman.control.kvevents.wire.MalformedBatch;
import io.pointsman.control.zmtp.ZmtpClient;
import io.pointsman.control.zmtp.ZmtpConnection.Message;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed.Cause;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows the KV events of one rank of one worker and reconnects after failures. Batches go to the
 * feed in the order of their numbers. Missing batches are requested from the replay endpoint; if
 * that fails, the feed's state is reset. One virtual thread does all of this. While it is busy, TCP
 * and the publisher's queue hold further batches.
 */
final class KvSource implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(KvSource.class);
  private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
  private static final Duration LOGGED_AGAIN = Duration.ofSeconds(30);
  private static final int LOOK_UP_MILLIS = 5000;
  private static final long NOT_IN_DOUBT = -1;

  /**
   * Dependencies that all sources share.
   *
   * @param limitsInForce the limits; may change
   * @param readAhead see {@link Replay#readAhead}
   */
  record Shared(
      Supplier<KvEventLimits> limitsInForce,
      KvEventTally tally,
      Ticker ticker,
      InstantSource clock,
      Semaphore readAhead) {
    KvEventLimits limits() {
      return limitsInForce.get();
    }
  }

  /** Kinds of warnings about a publisher; each kind is logged at most once per 30 s. */
  private enum Complaint {
    CONNECTION,
    REPLAY,
    MALFORMED,
    WRONG_RANK,
    POSITIONLESS
  }

  private final SourceSpec spec;
  private final KvOutlet.OutletLine line;
  private final Shared shared;
  private final KvEventTally tally;
  private final byte[] topic;
  private final String name;
  private final AddressRotation events;
  private final @Nullable Replay replay;
  private final CountDownLatch closing = new CountDownLatch(1);
  private volatile @Nullable ZmtpClient stream;
  private volatile @Nullable ZmtpClient repeating;
  private volatile double lagSeconds;

  /** Owned by the reading thread, like the fields below. */
  private final SequenceTrack track = new SequenceTrack();

  /**
   * The last number before a disconnect, if it is unknown whether the publisher has restarted;
   * otherwise {@link #NOT_IN_DOUBT}.
   */
  private long lastBefore = NOT_IN_DOUBT;

  /**
   * End of the last connection. If the publisher has restarted, placements up to this time are
   * lost; later ones reached the new process.
   */
  private long brokeAt;

  /**
   * True if the last batch was of another rank. The state of this rank is then unknown, even if no
   * batch is missing.
   */
  private boolean foreign;

  private long pauseNanos = FIRST_PAUSE.toNanos();
  private int defects;

  /** Time of the last log line of each kind; a frequent kind does not hide others. */
  private final Map<Complaint, Long> loggedAt = new EnumMap<>(Complaint.class);

  KvSource(SourceSpec spec, KvOutlet outlet, Shared shared) {
    this.spec = spec;
    this.shared = shared;
    tally = shared.tally();
    line = outlet.line(spec.rank());
    topic = spec.topic().getBytes(UTF_8);
    name = outlet.worker() + ", rank " + spec.rank() + ", " + spec.events();
    ZmqAddress again = spec.replay();
    events = new AddressRotation(spec.events(), KvSource::lookUp);
    replay =
        again == null
            ? null
            : new Replay(again, new AddressRotation(again, KvSource::lookUp), shared);
  }

  private static InetAddress[] lookUp(String host) throws IOException {
    return HostNames.addresses(host, LOOK_UP_MILLIS);
  }

  KvSource start() {
    Thread.ofVirtual().name("kv-events-" + name).start(this::run);
    return this;
  }

  SourceSpec spec() {
    return spec;
  }

  /** True if the reported state is complete. */
  boolean isLive() {
    return line.isLive();
  }

  /** Age of the last batch on arrival, by both clocks; 0 before the first batch. */
  double lagSeconds() {
    return lagSeconds;
  }

  private void run() {
    try {
      do {
        followUnlessBroken();
        line.live(false);
      } while (!closing.await(pause(), TimeUnit.NANOSECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Follows the source once. A defect discards the state of this cache, which must not count as
   * complete.
   */
  private void followUnlessBroken() {
    try {
      follow();
    } catch (RuntimeException | Error e) {
      log.error("KV events of {}: failed, connecting again", name, e);
      startAnew(Count.RESETS_DEFECT);
      defects++;
      pauseNanos = Math.min(FIRST_PAUSE.toNanos() << Math.min(defects, 6), LONGEST_PAUSE.toNanos());
    }
  }

  private long pause() {
    long pause = pauseNanos;
    pauseNanos = Math.min(2 * pause, LONGEST_PAUSE.toNanos());
    return pause;
  }

  private boolean closed() {
    return closing.getCount() == 0;
  }

  /** Connects and reads until the connection ends. */
  private void follow() {
    try (ZmtpClient client = new ZmtpClient(ZmtpClient.Kind.SUB, shared.limits().messageBytes())) {
      stream = client;
      if (closed()) {
        return;
      }
      events.connect(client);
      client.subscribe(topic);
      tally.add(Count.CONNECTS);
      try {
        connected();
        while (!closed()) {
          take(client.next());
        }
      } finally {
        brokeAt = shared.ticker().nanos();
      }
    } catch (IOException e) {
      if (!closed()) {
        String hint =
            spec.connects()
                ? "; the engine's endpoint has no wildcard, so its publisher connects to this"
                    + " address instead of binding it (expected: tcp://*:"
                    + spec.events().port()
                    + ")"
                : "";
        complain(
            Complaint.CONNECTION,
            "connection lost, connecting again: " + LogText.of(e.toString()) + hint);
      }
    }
  }

  /**
   * Verifies the state after connecting. It stays valid only if the publisher repeats the last
   * batch. A restarted engine may have reached any number.
   */
  private void connected() {
    foreign = false;
    track.reconnected();
    boolean before = track.last() >= 0;
    if (before) {
      // Saved before the replay: a replay that fails midway advances the track, but not the stream.
      lastBefore = track.last();
    }
    long lostUntil = before ? brokeAt : shared.ticker().nanos();
    boolean complete = replay != null && replay(Math.max(0, track.last()), lostUntil);
    if (complete) {
      lastBefore = NOT_IN_DOUBT;
    } else if (track.last() >= 0) {
      startAnew(Count.RESETS_RESTART);
    }
    line.live(complete && !foreign);
  }

  private void take(Message message) {
    pauseNanos = FIRST_PAUSE.toNanos();
    List<byte[]> frames = message.frames();
    if (message.tooLarge()) {
      // The number of the lost batch becomes visible as a gap before the next one.
      malformed("a message of more than " + shared.limits().messageBytes() + " bytes");
      line.live(false);
      return;
    }
    if (!Arrays.equals(frames.getFirst(), topic)) {
      return;
    }
    long seq = frames.size() == 3 ? number(frames.get(1)) : -1;
    if (seq < 0) {
      malformed("a message without a sequence number (expected: topic, number, payload)");
      return;
    }
    batch(seq, frames.get(2));
  }

  private static long number(byte[] frame) {
    return frame.length == Long.BYTES ? ByteBuffer.wrap(frame).getLong() : -1;
  }

  private void batch(long seq, byte[] payload) {
    long checksum = checksum(payload);
    if (seq <= lastBefore) {
      // The same publisher would have continued after that number, so it has restarted.
      line.restarted(brokeAt);
    }
    lastBefore = NOT_IN_DOUBT;
    switch (track.look(seq, checksum, true)) {
      case NEXT -> apply(payload, checksum, true);
      case REPEATED -> tally.add(Count.REPEATED);
      case GAP -> gap(seq, payload, checksum);
      case RESTARTED -> {
        restarted(shared.ticker().nanos());
        if (track.look(seq, checksum, true) == Verdict.NEXT) {
          apply(payload, checksum, true);
        } else {
          gap(seq, payload, checksum);
        }
      }
    }
    line.live(!foreign);
  }

  private void gap(long seq, byte[] payload, long checksum) {
    tally.add(Count.GAPS);
    line.live(false);
    if (replay != null) {
      replay(track.last() + 1, shared.ticker().nanos());
    }
    switch (track.look(seq, checksum, true)) {
      case NEXT -> apply(payload, checksum, true);
      case REPEATED -> {
        // The replay has brought this batch.
      }
      case GAP, RESTARTED -> {
        tally.add(Count.RESETS_GAP);
        line.reset(Cause.MISSED);
        track.skipTo(seq);
        apply(payload, checksum, true);
      }
    }
  }

  /**
   * Requests a replay.
   *
   * @param lostUntil if the replay shows a restart, placements up to this time are lost
   * @return true if all available batches from {@code from} on have arrived
   */
  private boolean replay(long from, long lostUntil) {
    Replayed replayed = ask(from);
    if (replayed == Replayed.RESTARTED) {
      restarted(lostUntil);
      replayed = ask(0);
    }
    tally.add(
        switch (replayed) {
          case COMPLETE -> Count.REPLAYS_COMPLETE;
          case PARTIAL -> Count.REPLAYS_PARTIAL;
          case RESTARTED, FAILED -> Count.REPLAYS_FAILED;
        });
    return replayed == Replayed.COMPLETE || replayed == Replayed.PARTIAL;
  }

  /** Result of a replay. */
  private enum Replayed {
    COMPLETE,
    /** Earlier batches are lost; the state starts empty at the first batch that arrived. */
    PARTIAL,
    RESTARTED,
    FAILED
  }

  /** State of a replay. */
  private static final class ReplayState {
    private boolean any;
    private Replayed result = Replayed.COMPLETE;
  }

  private Replayed ask(long from) {
    Replay asked = replay;
    if (asked == null) {
      return Replayed.FAILED;
    }
    ReplayState state = new ReplayState();
    long deadline = asked.deadline();
    long next = from;
    boolean complete = false;
    while (!complete) {
      try (ZmtpClient client = asked.client()) {
        repeating = client;
        if (closed()) {
          return Replayed.FAILED;
        }
        complete =
            asked.ask(client, next, deadline, (seq, payload) -> repeated(state, seq, payload));
      } catch (IOException e) {
        if (!closed()) {
          complain(Complaint.REPLAY, "replay failed: " + LogText.of(e.toString()));
        }
        return Replayed.FAILED;
      }
      if (!complete && track.last() < next) {
        // The publisher repeats known batches only, and would be asked without end.
        complain(Complaint.REPLAY, "replay failed: it brings only known batches, and no end");
        return Replayed.FAILED;
      }
      next = track.last() + 1;
    }
    boolean lastOneGone = from == track.last() && !state.any;
    return lastOneGone ? Replayed.RESTARTED : state.result;
  }

  private boolean repeated(ReplayState state, long seq, byte[] payload) {
    state.any = true;
    long checksum = checksum(payload);
    switch (track.look(seq, checksum, false)) {
      case NEXT -> apply(payload, checksum, false);
      case REPEATED -> {
        // Requested only to verify that the publisher is the same.
      }
      case GAP -> {
        state.result = Replayed.PARTIAL;
        tally.add(Count.RESETS_GAP);
        line.reset(Cause.MISSED);
        track.skipTo(seq);
        apply(payload, checksum, false);
      }
      case RESTARTED -> state.result = Replayed.RESTARTED;
    }
    return state.result != Replayed.RESTARTED && !closed();
  }

  private static long checksum(byte[] payload) {
    CRC32C crc = new CRC32C();
    crc.update(payload);
    return crc.getValue() << 24 ^ payload.length;
  }

  private void apply(byte[] payload, long checksum, boolean live) {
    track.advance(checksum, live);
    try {
      EventBatch batch = BatchReader.read(payload, shared.limits().batchEvents());
      foreign = !spec.accepts(batch.rank());
      if (foreign) {
        tally.add(Count.WRONG_RANK);
        complain(
            Complaint.WRONG_RANK,
            "a batch of rank " + batch.rank() + " (expected: " + spec.rank() + ")");
        return;
      }
      if (batch.positionless()) {
        complain(
            Complaint.POSITIONLESS,
            "blocks without a parent block match no prompt (SGLang before November 2025)");
      }
      count(batch, live);
      if (!line.apply(batch.events())) {
        tally.add(Count.RESETS_DEFECT);
      }
    } catch (MalformedBatch e) {
      malformed(String.valueOf(e.getMessage()));
      tally.add(Count.RESETS_MALFORMED);
      line.reset(Cause.MISSED);
    }
  }

  private void count(EventBatch batch, boolean live) {
    tally.add(Count.BATCHES);
    tally.add(Count.PASSED_OVER, batch.passedOver());
    for (KvEvent event : batch.events()) {
      switch (event) {
        case KvEvent.Stored _ -> tally.add(Count.STORED);
        case KvEvent.Removed _ -> tally.add(Count.REMOVED);
        case KvEvent.Cleared _ -> tally.add(Count.CLEARED);
      }
    }
    if (live && batch.seconds() > 0) {
      Instant now = shared.clock().instant();
      lagSeconds = Math.max(0, now.getEpochSecond() + now.getNano() / 1e9 - batch.seconds());
    }
  }

  private void startAnew(Count why) {
    tally.add(why);
    line.reset(Cause.MISSED);
    track.forget();
  }

  private void restarted(long lostUntil) {
    tally.add(Count.RESETS_RESTART);
    lastBefore = NOT_IN_DOUBT;
    line.restarted(lostUntil);
    track.forget();
  }

  private void malformed(String why) {
    tally.add(Count.MALFORMED);
    complain(Complaint.MALFORMED, LogText.of(why));
  }

  private void complain(Complaint about, String why) {
    long now = shared.ticker().nanos();
    Long before = loggedAt.get(about);
    if (before == null || now - before >= LOGGED_AGAIN.toNanos()) {
      loggedAt.put(about, now);
      log.warn("KV events of {}: {}", name, why);
    } else {
      log.debug("KV events of {}: {}", name, why);
    }
  }

  /** Ends the source and reports its end to the feed. */
  @Override
  public void close() {
    if (!closed()) {
      closing.countDown();
      tally.add(Count.RESETS_GONE);
      line.close();
      closeQuietly(stream);
      closeQuietly(repeating);
    }
  }

  private static void closeQuietly(@Nullable ZmtpClient client) {
    if (client != null) {
      client.close();
    }
  }
}
