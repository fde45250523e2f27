/** The plan for one request on two workers, as data. */
@NullMarked
package io.pointsman.pd.plan;

import org.jspecify.annotations.NullMarked;
