/** Requests that wait in the router while every worker is full, or while none is available. */
@NullMarked
package io.pointsman.engine.deferral;

import org.jspecify.annotations.NullMarked;
