@NullMarked
package io.pointsman.tool.bench.live;

import org.jspecify.annotations.NullMarked;
