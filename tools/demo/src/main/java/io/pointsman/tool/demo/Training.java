package io.pointsman.tool.demo;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.channel.EventLoopGroup;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs a router for a moment in front of two simulated engines. The launcher records which classes
 * that router loads, and later routers map them instead of loading them again.
 */
public final class Training {
  private static final String MODEL = "training";
  private static final int ROUNDS = 40;
  private static final int CHATS_AT_ONCE = 8;
  private static final long MOST_SECONDS = 60;
  private static final Pattern LISTENS = Pattern.compile("listens on (http://[^ ]+)");

  private Training() {}

  /**
   * @param command starts a router; the flags that name the engines are added
   */
  public static void main(String[] command) throws IOException, InterruptedException {
    EventLoopGroup loops = SimEngine.newGroup(1);
    try (SimEngine one = SimEngine.start(SimConfig.DEFAULT.withModels(MODEL), loops);
        SimEngine two = SimEngine.start(SimConfig.DEFAULT.withModels(MODEL), loops)) {
      System.exit(train(List.of(command), one.url() + "," + two.url()));
    } finally {
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  private static int train(List<String> command, String engines)
      throws IOException, InterruptedException {
    List<String> words = new ArrayList<>(command);
    words.addAll(List.of("--workers", engines, "--port", "0", "--metrics-port", "0"));
    words.addAll(List.of("--decisions-sample", "1", "--drain-timeout", "0"));
    Process router =
        new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader out =
        new BufferedReader(new InputStreamReader(router.getInputStream(), UTF_8))) {
      chat(url(out));
      router.destroy();
      out.lines().forEach(System.out::println);
      return router.waitFor(MOST_SECONDS, TimeUnit.SECONDS) ? router.exitValue() : 1;
    } finally {
      router.destroyForcibly();
    }
  }

  private static String url(BufferedReader out) throws IOException {
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      Matcher listens = LISTENS.matcher(line);
      if (listens.find()) {
        return listens.group(1);
      }
    }
    throw new IOException("the router ended before it listened");
  }

  private static void chat(String url) throws InterruptedException {
    SystemTicker ticker = new SystemTicker();
    ChatClient client = new ChatClient(url, ticker);
    awaitAnswer(client, ticker);
    try (DemoTraffic traffic =
        new DemoTraffic(MODEL, 1, client, new Readings(), new ThreadRandomSource())) {
      for (int i = 0; i < ROUNDS; i++) {
        traffic.warmUp(CHATS_AT_ONCE);
      }
    }
  }

  /** Sends a chat until it is answered: the router first has to find its workers healthy. */
  private static void awaitAnswer(ChatClient client, SystemTicker ticker)
      throws InterruptedException {
    Chat chat = new Chat("training", "Training");
    chat.say("user", "Hello");
    long begin = ticker.nanos();
    while (ticker.nanos() - begin < TimeUnit.SECONDS.toNanos(MOST_SECONDS)) {
      try {
        client.send(chat.request(MODEL, 4));
        return;
      } catch (IOException _) {
        // Not yet.
      }
    }
  }
}
