@NullMarked
package io.pointsman.tool.bench.picks;

import org.jspecify.annotations.NullMarked;
