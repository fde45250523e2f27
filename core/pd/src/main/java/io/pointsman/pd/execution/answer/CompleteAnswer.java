package io.pointsman.pd.execution.answer;

import io.pointsman.pd.body.ReplyReader;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.Splice;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** A prefill worker's answer as the client's answer, without the transfer parameters. */
public final class CompleteAnswer {
  private CompleteAnswer() {}

  /**
   * @param stream true if the client requested a stream; the answer is then its only event
   */
  public static Reply of(SplitTools tools, PrefillReply reply, boolean stream) {
    byte[] whole = reply.body().bytes();
    Splice splice =
        tools
            .editor()
            .edit(whole, 0, whole.length, List.of(BodyEdit.remove(ReplyReader.KV_TRANSFER_PARAMS)));
    byte[] body = splice == null ? whole : splice.toBytes(whole, 0);
    return stream
        ? new Reply(200, Map.of("content-type", "text/event-stream; charset=utf-8"), event(body))
        : new Reply(200, Map.of("content-type", "application/json"), body);
  }

  private static byte[] event(byte[] body) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(body.length + 32);
    out.writeBytes("data: ".getBytes(StandardCharsets.US_ASCII));
    out.writeBytes(body);
    out.writeBytes("\n\ndata: [DONE]\n\n".getBytes(StandardCharsets.US_ASCII));
    return out.toByteArray();
  }
}
