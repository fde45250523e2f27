package io.pointsman.it.golden;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.split.SplitCluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvState;
import io.pointsman.tool.sim.kv.RequestLog.Logged;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Requests that a prefill and a decode engine receive, as text. Names replace ports, ids and times;
 * equal values get equal names.
 */
final class HandOverText {
  private static final Pattern PASSING =
      Pattern.compile(
          "(?<nonce>[0-9a-f]{32})"
              + "|(?<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
              + "|(?<id>(?<![0-9a-z])[0-9a-f]{16}(?![0-9a-z]))"
              + "|(?<=-)(?<suffix>[0-9a-f]{8})(?=\")"
              + "|(?<=\"e2e_latency\":)(?<latency>[^,}]+)"
              + "|(?<=\"bootstrap_room\":)(?<room>\\d+)"
              + "|(?<=\"remote_block_ids\":)(?<blocks>\\[\\[?\\d[\\d,\\[\\]]*])"
              + "|(?<=\"created\":)(?<time>\\d+)|(?<=\"created_at\":)(?<seconds>\\d+)");

  private static final List<String> GROUPS =
      List.of("nonce", "uuid", "id", "suffix", "latency", "room", "blocks", "time", "seconds");

  private final SplitCluster pair;
  private final SimEngine prefill;
  private final SimEngine decode;
  private final Map<String, String> fixed = new LinkedHashMap<>();
  private final StringBuilder text = new StringBuilder();

  /** Of a cluster with one engine of each role. */
  HandOverText(SplitCluster pair) {
    this.pair = pair;
    prefill = pair.prefills.getFirst();
    decode = pair.decodes.getFirst();
    names("prefill", prefill);
    names("decode", decode);
  }

  private void names(String role, SimEngine engine) {
    KvState state = engine.kvState();
    fixed.put(Integer.toString(URI.create(engine.url()).getPort()), "<" + role + " port>");
    fixed.put(Integer.toString(state.port()), "<" + role + " side port>");
    for (int i = 0; i < state.initPorts().size(); i++) {
      fixed.put(state.initPorts().get(i).toString(), "<" + role + " init port " + i + ">");
      fixed.put(state.allocPorts().get(i).toString(), "<" + role + " alloc port " + i + ">");
    }
    fixed.put(state.engineId(), "<" + role + " engine>");
  }

  /**
   * Sends a request that both engines must serve, and adds the request that each received.
   *
   * @return the answer
   */
  HttpAnswer ask(String title, String path, String body, String... headers) throws IOException {
    List<Logged> prefills = prefill.requestLog();
    List<Logged> decodes = decode.requestLog();
    HttpAnswer answer = pair.post(path, body, headers);
    assertThat(answer.status()).as(title + ": " + answer.text()).isEqualTo(200);
    assertThat(answer.header("x-pointsman-split")).as(title).isEqualTo("split");
    Passing passing = new Passing();
    text.append("== ").append(title).append("\n\n");
    text.append("-- client\nPOST ").append(path).append('\n');
    text.append(String.join("\n", headers)).append("\n\n").append(body).append("\n\n");
    append("prefill", since(prefills, prefill), passing);
    append("decode", since(decodes, decode), passing);
    return answer;
  }

  private static Logged since(List<Logged> before, SimEngine engine) {
    List<Logged> now = new ArrayList<>(engine.requestLog());
    now.removeAll(before);
    assertThat(now).hasSize(1);
    return now.getFirst();
  }

  private void append(String role, Logged request, Passing passing) {
    text.append("-- ").append(role).append('\n');
    text.append(request.method()).append(' ').append(request.path()).append('\n');
    for (Map.Entry<String, String> header : request.headers()) {
      text.append(header.getKey()).append(": ").append(value(header, request, passing));
      text.append('\n');
    }
    text.append('\n').append(named(new String(request.body(), UTF_8), passing)).append("\n\n");
  }

  /** The length of a body depends on the lengths of ports and ids. */
  private String value(Map.Entry<String, String> header, Logged request, Passing passing) {
    if (header.getKey().equalsIgnoreCase("content-length")) {
      assertThat(header.getValue()).isEqualTo(Integer.toString(request.body().length));
      return "<length>";
    }
    if (header.getKey().equals("x-pointsman-via")) {
      assertThat(header.getValue()).matches("[0-9a-f]{16}");
      return "<router>";
    }
    return named(header.getValue(), passing);
  }

  private String named(String sent, Passing passing) {
    String plain = sent;
    for (Map.Entry<String, String> name : fixed.entrySet()) {
      String whole = "(?<![0-9a-z])" + Pattern.quote(name.getKey()) + "(?![0-9a-z])";
      plain = plain.replaceAll(whole, Matcher.quoteReplacement(name.getValue()));
    }
    return PASSING.matcher(plain).replaceAll(passing::name);
  }

  /** All exchanges so far. */
  String text() {
    return text.toString();
  }

  /** Names of the values that are new in each exchange, numbered in their order. */
  private static final class Passing {
    private final Map<String, String> names = new LinkedHashMap<>();
    private final Map<String, Integer> counts = new LinkedHashMap<>();

    private String name(MatchResult found) {
      for (String group : GROUPS) {
        if (found.group(group) != null) {
          return names.computeIfAbsent(
              found.group(), _ -> "<%s %d>".formatted(group, counts.merge(group, 1, Integer::sum)));
        }
      }
      throw new IllegalStateException(found.group());
    }
  }
}
