package io.pointsman.proxy;

import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetectorFactory;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Watches every buffer for being let go without having been released. */
final class BufferLeaks {
  private static final List<String> FOUND = new CopyOnWriteArrayList<>();

  private BufferLeaks() {}

  /** To be called before anything of Netty's is used. */
  static void watch() {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
    ResourceLeakDetectorFactory.setResourceLeakDetectorFactory(
        new ResourceLeakDetectorFactory() {
          @Override
          @Deprecated
          @SuppressWarnings("InlineMeSuggester") // to be overridden, not called
          public <T> ResourceLeakDetector<T> newResourceLeakDetector(
              Class<T> resource, int samplingInterval, long maxActive) {
            return newResourceLeakDetector(resource, samplingInterval);
          }

          @Override
          public <T> ResourceLeakDetector<T> newResourceLeakDetector(
              Class<T> resource, int samplingInterval) {
            return new ResourceLeakDetector<>(resource, samplingInterval) {
              @Override
              protected void reportTracedLeak(String type, String records) {
                FOUND.add(type + records);
              }

              @Override
              protected void reportUntracedLeak(String type) {
                FOUND.add(type);
              }
            };
          }
        });
  }

  /** What has been found so far, after a look at everything that is no longer referred to. */
  static List<String> found() {
    System.gc();
    for (int i = 0; i < 3; i++) {
      ByteBufAllocator.DEFAULT.buffer(1).release();
    }
    return FOUND;
  }
}
