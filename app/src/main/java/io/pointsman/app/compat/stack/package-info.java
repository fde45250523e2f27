/** Translation of the command line of the vLLM production stack's router. */
@NullMarked
package io.pointsman.app.compat.stack;

import org.jspecify.annotations.NullMarked;
