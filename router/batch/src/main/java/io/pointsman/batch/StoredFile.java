package io.pointsman.batch;

import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * A file in the store.
 *
 * @param bytes size in bytes
 * @param createdAt seconds since 1970
 * @param name name that the client gave it
 * @param owner client that may use it, see {@link Owners}
 */
record StoredFile(
    String id, long bytes, long createdAt, String name, String purpose, String owner) {

  /** The object of the API. */
  ObjectNode json() {
    ObjectNode file = Answers.object();
    file.put("id", id);
    file.put("object", "file");
    file.put("bytes", bytes);
    file.put("created_at", createdAt);
    file.put("filename", name);
    file.put("purpose", purpose);
    file.put("status", "processed");
    return file;
  }
}
