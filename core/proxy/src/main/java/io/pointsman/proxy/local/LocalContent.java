package io.pointsman.proxy.local;

import java.io.IOException;
import java.io.InputStream;

/** The body of an answer that is not kept in memory, for example a file. */
public interface LocalContent {
  /** Number of bytes. */
  long length();

  /** Opens the body. Called once, on a virtual thread; the caller closes the stream. */
  InputStream open() throws IOException;
}
