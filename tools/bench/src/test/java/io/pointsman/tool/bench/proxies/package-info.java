@NullMarked
package io.pointsman.tool.bench.proxies;

import org.jspecify.annotations.NullMarked;
