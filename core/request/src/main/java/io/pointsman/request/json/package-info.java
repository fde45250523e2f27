/**
 * Reader of JSON bytes in one pass, without a tree or recursion. It hashes blocks of text as it
 * reads.
 */
@NullMarked
package io.pointsman.request.json;

import org.jspecify.annotations.NullMarked;
