/** What single events of an answer's stream tell of the engine that sends them. */
@NullMarked
package io.pointsman.request.event;

import org.jspecify.annotations.NullMarked;
