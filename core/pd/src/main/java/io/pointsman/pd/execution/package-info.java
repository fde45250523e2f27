/** Execution of requests on a prefill and a decode worker, by the plans of protocols. */
@NullMarked
package io.pointsman.pd.execution;

import org.jspecify.annotations.NullMarked;
