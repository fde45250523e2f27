package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.disagg.plan.Header;
import java.util.List;

/**
 * What is changed in the headers of a client's request.
 *
 * @param headers request id or rank, each in place of the client's or the worker's own
 * @param plain whether the answer must not be encoded, because the router reads it
 * @param part whether it is one of several requests to different engines: the rank that the client
 *     names is a rank of one engine, so it stays behind
 */
public record HeadChanges(List<Header> headers, boolean plain, boolean part) {
  public static final HeadChanges NONE = new HeadChanges(List.of(), false, false);

  public HeadChanges {
    headers = List.copyOf(headers);
  }

  /** Whether the client's header of this name does not travel on. */
  boolean replaces(HeaderName name) {
    return switch (name) {
      case REQUEST_ID -> has(Header.REQUEST_ID);
      case RANK -> part;
      case ACCEPT_ENCODING -> plain;
      case AUTHORIZATION,
          CONNECTION,
          CONTENT_LENGTH,
          EXPECT,
          HOST,
          KEEP_ALIVE,
          PROXY_AUTHORIZATION,
          PROXY_CONNECTION,
          TE,
          TRACEPARENT,
          TRACESTATE,
          TRAILER,
          TRANSFER_ENCODING,
          UPGRADE,
          OTHER ->
          false;
    };
  }

  boolean has(String name) {
    for (int i = 0; i < headers.size(); i++) {
      if (headers.get(i).name().equals(name)) {
        return true;
      }
    }
    return false;
  }

  void write(ByteBuf out) {
    for (Header header : headers) {
      Latin1.write(out, header.name() + ": " + header.value() + "\r\n");
    }
  }
}
