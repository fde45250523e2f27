/** Translation of Ray Serve's declarative configuration for LLM applications. */
@NullMarked
package io.pointsman.compat.rayserve;

import org.jspecify.annotations.NullMarked;
