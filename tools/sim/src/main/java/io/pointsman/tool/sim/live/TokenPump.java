package io.pointsman.tool.sim.live;

import io.pointsman.tool.sim.http.SimEventStream;
import io.pointsman.tool.sim.schedule.Sequence;

/** Writes a run's tokens to a stream as they are generated and as the client reads. */
final class TokenPump {
  private final GenerationRun run;
  private final StreamReply reply;
  private final SimEventStream out;
  private final int[] sent;
  private boolean opened;
  private int ended;

  TokenPump(GenerationRun run, StreamReply reply, SimEventStream out) {
    this.run = run;
    this.reply = reply;
    this.out = out;
    this.sent = new int[run.size()];
  }

  /**
   * Writes as many tokens as possible.
   *
   * @return true if the stream is complete
   */
  boolean run() {
    if (run.failed()) {
      reply.failed(out);
      out.end();
      return true;
    }
    if (!opened && run.completionTokens() > 0) {
      opened = true;
      reply.opened(out);
    }
    boolean wrote = opened;
    while (wrote && out.writable()) {
      wrote = false;
      for (int choice = 0; choice < sent.length; choice++) {
        wrote |= step(choice);
      }
    }
    if (ended < sent.length) {
      out.flush();
      return false;
    }
    reply.closed(out);
    out.end();
    return true;
  }

  private boolean step(int choice) {
    Sequence sequence = run.sequence(choice);
    if (sent[choice] < sequence.produced()) {
      reply.token(out, choice, sent[choice]++);
      return true;
    }
    if (sent[choice] == run.length(choice)) {
      sent[choice]++;
      ended++;
      reply.ended(out, choice);
      return true;
    }
    return false;
  }
}
