/** The kind of single events in a streamed answer: progress of the engine, output or error. */
@NullMarked
package io.pointsman.request.event;

import org.jspecify.annotations.NullMarked;
