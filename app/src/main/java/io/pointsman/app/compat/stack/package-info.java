/** The command line of the vLLM production stack's router, translated into the configuration. */
@NullMarked
package io.pointsman.app.compat.stack;

import org.jspecify.annotations.NullMarked;
