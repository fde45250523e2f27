@NullMarked
package io.pointsman.tool.bench;

import org.jspecify.annotations.NullMarked;
