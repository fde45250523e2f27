/** Tests of the recent activity. */
@NullMarked
package io.pointsman.observe.activity;

import org.jspecify.annotations.NullMarked;
