package io.pointsman.proxy.loop;

import io.pointsman.proxy.handler.Courses;
import org.jspecify.annotations.Nullable;

/** Source of the request handlers for event loops. */
@FunctionalInterface
public interface CourseFactory {
  /** No handlers: the one worker that the engine chooses serves each request. */
  CourseFactory NONE = _ -> null;

  /** The handlers for one event loop; null for none, as in {@link #NONE}. */
  @Nullable Courses create(LoopState state);
}
