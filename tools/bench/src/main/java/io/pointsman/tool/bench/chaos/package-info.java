/**
 * Load runs of minutes while engines fail: effects on clients, and growth of the router's
 * resources.
 */
@NullMarked
package io.pointsman.tool.bench.chaos;

import org.jspecify.annotations.NullMarked;
