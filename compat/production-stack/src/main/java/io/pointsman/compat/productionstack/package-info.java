/** Translation of the command line of the vLLM production stack's router. */
@NullMarked
package io.pointsman.compat.productionstack;

import org.jspecify.annotations.NullMarked;
