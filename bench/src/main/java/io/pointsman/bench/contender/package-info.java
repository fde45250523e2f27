/** What can be put in front of engines to be measured, and the processes it runs as. */
@NullMarked
package io.pointsman.bench.contender;

import org.jspecify.annotations.NullMarked;
