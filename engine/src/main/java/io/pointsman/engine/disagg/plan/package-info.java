/** What is to be done for one request that is served by two workers, as data. */
@NullMarked
package io.pointsman.engine.disagg.plan;

import org.jspecify.annotations.NullMarked;
