package io.pointsman.proxy.loop;

import io.pointsman.proxy.course.Courses;
import org.jspecify.annotations.Nullable;

/** Makes what leads the requests of an event loop where one worker may not be enough. */
@FunctionalInterface
public interface CourseFactory {
  /** Each request is served by the one worker that the engine chooses. */
  CourseFactory NONE = _ -> null;

  /** Null for none: then each request is served by the one worker that the engine chooses. */
  @Nullable Courses create(LoopState state);
}
