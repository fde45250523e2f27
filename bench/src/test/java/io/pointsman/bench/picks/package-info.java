@NullMarked
package io.pointsman.bench.picks;

import org.jspecify.annotations.NullMarked;
