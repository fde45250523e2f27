/** Programs that can be measured in front of engines, and their processes. */
@NullMarked
package io.pointsman.tool.bench.contender;

import org.jspecify.annotations.NullMarked;
