/** What tests of every module share. Never shipped. */
@NullMarked
package io.pointsman.testkit;

import org.jspecify.annotations.NullMarked;
