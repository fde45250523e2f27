package io.pointsman.batch;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.config.settings.BatchSettings;
import io.pointsman.proxy.local.LocalContent;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The endpoints for files. */
final class FilesApi {
  /** Maximum number of files. */
  static final int MOST_FILES = 10_000;

  /** Maximum number of uploads at the same time. */
  private static final int MOST_UPLOADS = 16;

  /** Maximum number of bytes of a form beside its file. */
  private static final int FORM = 64 << 10;

  private static final int LONGEST_FIELD = 256;
  private static final String PATH = "/v1/files";
  private static final String FILE = "/v1/files/";
  private static final String CONTENT = "/content";
  private static final String UNKNOWN = "unknown";

  private final BatchStore store;
  private final Supplier<BatchSettings> settings;
  private final InstantSource clock;
  private final Supplier<String> ids;
  private final Owners owners;
  private final OwnerSlots uploads;

  FilesApi(
      BatchStore store,
      Supplier<BatchSettings> settings,
      InstantSource clock,
      Supplier<String> ids,
      Owners owners) {
    this.store = store;
    this.settings = settings;
    this.clock = clock;
    this.ids = ids;
    this.owners = owners;
    uploads = new OwnerSlots(MOST_UPLOADS, () -> (int) owners.shareOf(MOST_UPLOADS));
  }

  void addTo(LocalRoutes.Builder routes) {
    routes.on("POST", PATH, new UploadEndpoint());
    routes.on("GET", PATH, this::list);
    routes.below("GET", FILE, this::get);
    routes.below("DELETE", FILE, this::delete);
  }

  private final class UploadEndpoint implements LocalEndpoint {
    @Override
    public LocalResponse handle(LocalRequest request) throws IOException {
      String owner = owners.of(request);
      if (!uploads.tryEnter(owner)) {
        String message =
            "uploads: too many are in progress (expected: at most "
                + MOST_UPLOADS
                + ", and batch.max-share of them for one client)";
        return Answers.error(LocalError.TOO_MANY_UPLOADS, message, null)
            .withHeader("retry-after", "1");
      }
      try {
        return upload(request, owner);
      } catch (Multipart.MalformedException e) {
        return Answers.error(LocalError.INVALID_FORM, String.valueOf(e.getMessage()), null);
      } finally {
        uploads.leave(owner);
      }
    }

    @Override
    public boolean streamsBody() {
      return true;
    }

    @Override
    public int mostBytes() {
      return (int) Math.min(Integer.MAX_VALUE, settings.get().maxFileBytes() + FORM);
    }
  }

  private LocalResponse upload(LocalRequest request, String owner) throws IOException {
    InputStream body = request.stream();
    if (body == null) {
      throw new IOException("the upload has no body");
    }
    if (store.count(null) >= MOST_FILES) {
      return full("files: " + MOST_FILES + " are stored (expected: fewer; delete some)");
    }
    if (store.count(owner) >= owners.shareOf(MOST_FILES)) {
      return full(
          "files: this client has "
              + owners.shareOf(MOST_FILES)
              + " (expected: fewer, batch.max-share; delete some)");
    }
    Multipart form = new Multipart(body, request.header("content-type"));
    String id = BatchStore.FILE_ID + ids.get();
    Room room = new Room(owner);
    try {
      return upload(form, id, room);
    } finally {
      Files.deleteIfExists(store.unfinished(id));
      room.release();
    }
  }

  /** Room in the store for an upload, reserved while its bytes arrive. */
  private final class Room {
    private final String owner;
    private long bytes;

    Room(String owner) {
      this.owner = owner;
    }

    boolean take(int more) {
      long most = settings.get().maxTotalBytes();
      boolean fits = store.room().take(owner, more, most, owners.shareOf(most));
      bytes += fits ? more : 0;
      return fits;
    }

    /** Leaves the room to the stored file. */
    void keep() {
      bytes = 0;
    }

    void release() {
      store.room().release(owner, bytes);
    }
  }

  private LocalResponse upload(Multipart form, String id, Room room) throws IOException {
    String name = null;
    String purpose = UNKNOWN;
    for (Multipart.Part part = form.next(); part != null; part = form.next()) {
      if (part.name().equals("file") && name == null) {
        name = part.file() == null ? id : plain(part.file());
        String problem = write(form, store.unfinished(id), room);
        if (problem != null) {
          return full(problem);
        }
      } else if (part.name().equals("purpose")) {
        purpose = plain(form.text(LONGEST_FIELD));
      } else if (part.name().startsWith("expires_after")) {
        return Answers.error(
            LocalError.UNSUPPORTED_PARAMETER,
            "expires_after: not supported (expected: none; files are kept until they are deleted)",
            "expires_after");
      }
    }
    if (name == null) {
      return Answers.missing("file");
    }
    long now = clock.instant().getEpochSecond();
    StoredFile file = new StoredFile(id, room.bytes, now, name, purpose, room.owner);
    store.add(file);
    room.keep();
    return Answers.ok(file.json());
  }

  private static LocalResponse full(String message) {
    return Answers.error(LocalError.STORAGE_FULL, message, "file");
  }

  /** Writes the file of a form. Returns the reason why it does not fit, or null. */
  private @Nullable String write(Multipart form, Path to, Room room) throws IOException {
    byte[] piece = new byte[FORM];
    try (OutputStream out = Files.newOutputStream(to)) {
      for (int count = form.read(piece); count >= 0; count = form.read(piece)) {
        if (room.bytes + count > settings.get().maxFileBytes()) {
          return "file: too large (expected: at most "
              + settings.get().maxFileBytes()
              + " bytes, batch.max-file)";
        }
        if (!room.take(count)) {
          return "files: the store is full (expected: at most batch.max-total, and batch.max-share"
              + " of it for one client; delete some)";
        }
        out.write(piece, 0, count);
      }
    }
    return null;
  }

  /** A text of a client on one line, of bounded length. */
  private static String plain(String text) {
    String line = text.replaceAll("\\p{Cntrl}", " ").strip();
    return line.length() > LONGEST_FIELD ? line.substring(0, LONGEST_FIELD) : line;
  }

  private LocalResponse list(LocalRequest request) {
    int limit = Answers.limit(request);
    if (limit == 0) {
      return Answers.badLimit();
    }
    String purpose = request.parameter("purpose");
    String after = request.parameter("after");
    List<ObjectNode> files =
        store.files(owners.of(request), purpose, after, limit + 1).stream()
            .map(StoredFile::json)
            .toList();
    return Answers.list(files, limit);
  }

  private LocalResponse get(LocalRequest request) {
    String rest = request.pathAfter(FILE);
    boolean content = rest.endsWith(CONTENT);
    String id = content ? rest.substring(0, rest.length() - CONTENT.length()) : rest;
    StoredFile file = store.file(id, owners.of(request));
    if (file == null) {
      return Answers.notFound("File", id);
    }
    return content
        ? LocalResponse.of(
            "application/octet-stream", new Stored(store.content(file), file.bytes()))
        : Answers.ok(file.json());
  }

  private record Stored(Path path, long length) implements LocalContent {
    @Override
    public InputStream open() throws IOException {
      return Files.newInputStream(path);
    }
  }

  private LocalResponse delete(LocalRequest request) throws IOException {
    String id = request.pathAfter(FILE);
    StoredFile file = store.file(id, owners.of(request));
    if (file == null) {
      return Answers.notFound("File", id);
    }
    if (store.isInput(file)) {
      return Answers.error(
          LocalError.FILE_IN_USE,
          "file: a batch reads it (expected: cancel the batch first)",
          "id");
    }
    store.delete(file);
    ObjectNode gone = Answers.object();
    gone.put("id", id);
    gone.put("object", "file");
    gone.put("deleted", true);
    return Answers.ok(gone);
  }
}
