package io.pointsman.server.scheduling;

import io.pointsman.engine.env.LargePages;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Linux's transparent huge pages, by {@code madvise(2)}. A short-lived thread allocates and fills
 * each piece, because clearing a large page takes up to milliseconds. This happens only a few dozen
 * times in a router's life.
 */
final class SystemLargePages implements LargePages {
  private static final Logger log = LoggerFactory.getLogger(SystemLargePages.class);

  private static final Path OFFERED = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
  private static final long PAGE_BYTES = 2 << 20;
  private static final int MADV_HUGEPAGE = 14;

  private SystemLargePages() {}

  /** Large pages of this machine; {@link LargePages#NONE} if it does not offer them on request. */
  static LargePages ofThisMachine() {
    try {
      String offered = Files.exists(OFFERED) ? Files.readString(OFFERED) : "";
      boolean given = offered.contains("[madvise]") || offered.contains("[always]");
      return given && SystemLargePages.class.getModule().isNativeAccessEnabled()
          ? new SystemLargePages()
          : NONE;
    } catch (IOException _) {
      return NONE;
    }
  }

  @Override
  public void find(long bytes, Consumer<MemorySegment> ready) {
    Thread.ofPlatform()
        .daemon()
        .name("large-pages")
        .start(
            () -> {
              MemorySegment found = Libc.allocate(bytes);
              if (found == null) {
                log.debug("no large pages for {} bytes", bytes);
              } else {
                ready.accept(found);
              }
            });
  }

  /**
   * C library functions, bound on first use, because binding takes longer than the rest of the
   * start.
   */
  @SuppressWarnings("restricted") // only with native access enabled
  private static final class Libc {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final MethodHandle ALIGNED_ALLOC =
        bind(
            "aligned_alloc",
            FunctionDescriptor.of(
                ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    private static final MethodHandle MADVISE =
        bind(
            "madvise",
            FunctionDescriptor.of(
                ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_INT));
    private static final MethodHandle FREE =
        bind("free", FunctionDescriptor.ofVoid(ValueLayout.ADDRESS));

    private static MethodHandle bind(String name, FunctionDescriptor descriptor) {
      return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor);
    }

    /** Allocates zeroed memory; null if there is none. */
    static @Nullable MemorySegment allocate(long bytes) {
      try {
        MemorySegment address = (MemorySegment) ALIGNED_ALLOC.invokeExact(PAGE_BYTES, bytes);
        if (address.address() == 0) {
          return null;
        }
        int refused = (int) MADVISE.invokeExact(address, bytes, MADV_HUGEPAGE);
        log.debug("madvise: {}", refused);
        return address.reinterpret(bytes, Arena.ofAuto(), Libc::free).fill((byte) 0);
      } catch (Throwable e) { // declared by invokeExact
        throw new IllegalStateException("aligned_alloc, madvise: not callable", e);
      }
    }

    private static void free(MemorySegment memory) {
      try {
        FREE.invokeExact(memory);
      } catch (Throwable e) { // declared by invokeExact
        throw new IllegalStateException("free: not callable", e);
      }
    }
  }
}
