package io.pointsman.proxy.call;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.deferral.Deferral;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.admission.Admissions;
import io.pointsman.proxy.admission.DrainGate;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.body.BodyDecoder;
import io.pointsman.proxy.body.RequestEdits;
import io.pointsman.proxy.call.AnswerReference.Chunks;
import io.pointsman.proxy.call.AnswerReference.Framing;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.local.AllowedHosts;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.loop.LiveParts;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.quota.ClientLimiter;
import io.pointsman.proxy.relay.ResponseRelay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.proxy.retry.Backoff;
import io.pointsman.proxy.retry.FaultRecords;
import io.pointsman.proxy.settings.Cors;
import io.pointsman.proxy.stored.ResponseOwners;
import io.pointsman.proxy.stored.StoredSearches;
import io.pointsman.proxy.strategy.PlainHandlers;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.upstream.EngineTls;
import io.pointsman.proxy.upstream.NameTable;
import io.pointsman.proxy.upstream.UpstreamPools;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RequestHeads;
import io.pointsman.proxy.wire.RouterId;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.RequestReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Fuzz target that relays any bytes as a worker's answer, in any split, to a client of HTTP/1.1 or
 * 1.0. The first byte contains switches, the second the split. Properties: for each split the
 * client gets exactly the bytes of {@link AnswerReference}. A broken body reaches it up to the
 * error; an event stream then ends with an error event. No exception is thrown, no buffer is lost.
 */
public final class RelayFuzz {
  private static final int MOST_BYTES = 4096;
  private static final int HTTP_10 = 1;
  private static final int HEAD_REQUEST = 2;
  private static final int CLOSE = 4;
  private static final int RESET = 8;
  private static final String LINES = "x-request-id: r\r\n";
  private static final EmbeddedChannel LOOP = new EmbeddedChannel();
  private static final LoopState STATE = state();

  private RelayFuzz() {}

  /** Runs one input. Throws if a property is violated. */
  public static void fuzzerTestOneInput(byte[] input) {
    if (input.length < 2 || input.length > MOST_BYTES) {
      return;
    }
    byte[] answer = Arrays.copyOfRange(input, 2, input.length);
    SplittableRandom random = new SplittableRandom(input[1]);
    check(input[0], answer, left -> left);
    check(input[0], answer, left -> 1);
    check(input[0], answer, left -> 1 + random.nextInt(Math.min(left, 40)));
  }

  private static void check(int switches, byte[] answer, IntUnaryOperator split) {
    new Run(switches, answer).run(split);
  }

  /** One answer on its way to a client. */
  private static final class Run {
    private final byte[] answer;
    private final boolean http10;
    private final boolean headRequest;
    private final boolean close;
    private final boolean reset;
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final HeadCollector heads = new HeadCollector(STATE, false, interim -> {});
    private final List<ByteBuf> reads = new ArrayList<>();
    private @Nullable ResponseRelay relay;
    private boolean complete;
    private boolean endedWithError;

    Run(int switches, byte[] answer) {
      this.answer = answer;
      http10 = (switches & HTTP_10) != 0;
      headRequest = (switches & HEAD_REQUEST) != 0;
      close = (switches & CLOSE) != 0;
      reset = (switches & RESET) != 0;
      channel.config().setAllocator(UnpooledByteBufAllocator.DEFAULT);
    }

    void run(IntUnaryOperator split) {
      boolean more = true;
      for (int at = 0; more && at < answer.length; ) {
        int part = split.applyAsInt(answer.length - at);
        ByteBuf read = Unpooled.copiedBuffer(answer, at, part);
        reads.add(read);
        more = take(read);
        at += part;
      }
      if (more) {
        end();
      }
      heads.release();
      if (relay != null) {
        relay.release();
      }
      compare(sent());
      channel.finishAndReleaseAll();
      reads.forEach(read -> must(read.refCnt() == 0, "what was read is held: " + read));
    }

    /** Handles a read as an attempt does. Returns true if another read may follow. */
    private boolean take(ByteBuf bytes) {
      ResponseRelay begun = relay;
      if (begun != null) {
        return passOn(begun, bytes);
      }
      return switch (heads.take(bytes)) {
        case MORE -> true;
        case MALFORMED -> false;
        case COMPLETE -> begin(heads.takeRest());
      };
    }

    private boolean begin(ByteBuf rest) {
      RequestHead request = request(http10, headRequest);
      ResponseRelay begun = new ResponseRelay(channel, request, STATE.head(), LINES, !close);
      relay = begun;
      if (begun.empty()) {
        rest.release();
        begun.sendHead();
        complete = true;
        return false;
      }
      if (!rest.isReadable()) {
        rest.release();
        return true;
      }
      return passOn(begun, rest);
    }

    private boolean passOn(ResponseRelay begun, ByteBuf bytes) {
      return switch (begun.relay(bytes)) {
        case MORE -> true;
        case DONE -> {
          complete = true;
          yield false;
        }
        case MALFORMED -> {
          endedWithError = begun.endWithError(ProxyError.UPSTREAM_BROKE_OFF);
          yield false;
        }
      };
    }

    /** Closes the worker's connection, orderly or not. */
    private void end() {
      ResponseRelay begun = relay;
      if (begun == null) {
        return;
      }
      begun.sendHead();
      if (!reset && begun.endOfConnection()) {
        complete = true;
      } else {
        endedWithError = begun.endWithError(ProxyError.UPSTREAM_BROKE_OFF);
      }
    }

    private String sent() {
      channel.flush();
      StringBuilder out = new StringBuilder();
      for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
        out.append(part.toString(ISO_8859_1));
        part.release();
        must(part.refCnt() == 0, "a buffer is held by others: " + part);
      }
      return out.toString();
    }

    private void compare(String sent) {
      AnswerReference expected = AnswerReference.of(answer, headRequest);
      if (expected == null) {
        must(relay == null && sent.isEmpty(), "sent without an answer: " + sent);
        return;
      }
      must(relay != null, "no answer found");
      boolean untilClose = expected.framing() == Framing.UNTIL_CLOSE;
      boolean chunks = !http10 && (untilClose || expected.framing() == Framing.CHUNKED);
      boolean dropped = http10 && (untilClose || expected.framing() == Framing.CHUNKED);
      String connection =
          close || dropped ? "connection: close\r\n" : http10 ? "connection: keep-alive\r\n" : "";
      String head =
          expected.head()
              + LINES
              + (chunks ? "transfer-encoding: chunked\r\n" : "")
              + connection
              + "\r\n";
      must(complete == (untilClose ? !reset : expected.bodyEnd() >= 0), "complete: " + complete);
      String body = sent;
      if (!sent.isEmpty() || complete || endedWithError) {
        must(sent.startsWith(head), "head\n" + sent + "\n(expected)\n" + head);
        body = sent.substring(head.length());
      }
      if (endedWithError) {
        must(expected.events(), "an error event in what is no stream of events");
        errorEvent(chunks ? unchunked(body) : body, expected);
      } else if (chunks && untilClose) {
        String content = complete ? unchunked(body) : Chunks.of(body, 0).content();
        must(content.equals(expected.content()), "content: " + content);
      } else {
        plain(body, expected);
      }
    }

    /** Checks a body that is relayed unchanged or without its chunks. */
    private void plain(String body, AnswerReference expected) {
      if (http10 && expected.framing() == Framing.CHUNKED) {
        boolean all = expected.bodyEnd() != AnswerReference.BROKEN;
        String whole = expected.content();
        must(all ? body.equals(whole) : whole.startsWith(body), "content: " + body);
        return;
      }
      String came = new String(answer, ISO_8859_1).substring(expected.bodyStart());
      if (expected.bodyEnd() == AnswerReference.BROKEN) {
        boolean sound = Chunks.of(body, 0).end() == AnswerReference.CUT;
        must(came.startsWith(body) && sound, "more than what is sound: " + body);
      } else {
        String whole = came.substring(0, expected.readable() - expected.bodyStart());
        must(body.equals(whole), "body: " + body);
      }
    }

    private static String unchunked(String body) {
      Chunks chunks = Chunks.of(body, 0);
      must(chunks.end() == body.length(), "not in chunks, or not ended: " + body);
      return chunks.content();
    }

    /** Checks for the valid part, an empty line, the event, and nothing else. */
    private static void errorEvent(String content, AnswerReference expected) {
      int event = content.lastIndexOf("data: {\"error\"");
      must(event >= 0 && content.endsWith("}\n\n"), "no error event: " + content);
      String before = content.substring(0, event);
      must(
          before.isEmpty() || before.endsWith("\n\n") || before.endsWith("\n\r\n"),
          "the error is not an event of its own: " + content);
      String sound = expected.content();
      String kept = before.replaceFirst("\\n+\\z", "");
      must(sound.startsWith(kept), "not what came: " + content);
      boolean lost = !kept.equals(sound.replaceFirst("\\n+\\z", ""));
      must(!lost || expected.bodyEnd() == AnswerReference.BROKEN, "lost a part: " + content);
    }
  }

  private static void must(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }

  private static RequestHead request(boolean http10, boolean headRequest) {
    String method = headRequest ? "HEAD" : "POST";
    String version = http10 ? "HTTP/1.0" : "HTTP/1.1";
    return RequestHeads.of(method + " /v1/completions " + version + "\r\n\r\n");
  }

  /** State of an event loop for the relay. Nothing is sent to a worker. */
  private static LoopState state() {
    ProxySettings settings = ProxySettings.DEFAULTS;
    Fleet fleet = new Fleet(FleetSettings.DEFAULTS, () -> 0);
    RoutingEngine engine =
        new RoutingEngine(
            fleet,
            new PolicySetup(pool -> (request, now) -> null, List.of()),
            EngineSettings.DEFAULTS,
            new IgnoredReports(),
            () -> 0,
            bound -> 0);
    LiveParts live =
        new LiveParts(
            ServedPaths.NONE,
            CallerCheck.NONE,
            false,
            AllowedHosts.ANY,
            settings.limits(),
            settings.timeouts(),
            settings.headers(),
            new Cors(settings.cors(), LocalRoutes.NONE),
            settings.retry(),
            new Backoff(settings.retry(), bound -> 0),
            new Admissions(settings.admission(), () -> 0),
            new Deferral(engine, settings.deferral(), () -> 0),
            new RequestIds(settings.headers().requestIdHeaders(), bound -> 0),
            settings.sseKeepalive());
    ServerContext server =
        new ServerContext(
            live,
            engine,
            ProxyListener.NONE,
            RequestTracer.NONE,
            PromptListener.NONE,
            RequestEdits.NONE,
            () -> 0,
            new FaultRecords(settings.retry().poison(), () -> 0),
            new ClientLimiter(() -> 0),
            new ResponseOwners(1, new StoredSearches(1, () -> 0)),
            new DrainGate(),
            new BodyBudget(1L << 30),
            new BodyBudget(1L << 30),
            new BodyDecoder(new BodyBudget(1L << 30), 1),
            RouterId.NONE);
    Flushes flushes = new Flushes(LOOP.eventLoop());
    NameTable names =
        new NameTable(
            NameTable::ofSystem,
            settings.upstream().nameTtl(),
            settings.upstream().connectTimeout(),
            () -> 0);
    return new LoopState(
        server,
        LOOP.eventLoop(),
        flushes,
        kept ->
            new UpstreamPools(
                LOOP.eventLoop(),
                flushes,
                new Bootstrap().channel(NioSocketChannel.class),
                (_, _) -> {},
                settings.upstream(),
                names,
                EngineTls.ofSystem(),
                RouterId.NONE,
                kept),
        new RequestReader(AffinitySettings.DEFAULT),
        PlainHandlers::new,
        settings.upstream(),
        1);
  }

  private static final class IgnoredReports implements EngineListener {
    @Override
    public void policyFailed(RuntimeException failure) {}
  }
}
