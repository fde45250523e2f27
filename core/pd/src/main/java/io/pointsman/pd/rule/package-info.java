/** The split of requests into prefill and decode on two workers. */
@NullMarked
package io.pointsman.pd.rule;

import org.jspecify.annotations.NullMarked;
