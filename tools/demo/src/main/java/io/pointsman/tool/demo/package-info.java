/** The demo in one process: simulated engines, router, chat traffic, and a table. */
@NullMarked
package io.pointsman.tool.demo;

import org.jspecify.annotations.NullMarked;
