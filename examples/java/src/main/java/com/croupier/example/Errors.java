package com.croupier.example;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.QuotaFailure;
import com.google.rpc.RetryInfo;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.Optional;
import java.util.StringJoiner;
import javax.net.ssl.SSLException;

/** What a failed call comes with. */
final class Errors {
  private Errors() {}

  // --8<-- [start:errors]
  /** Returns why the server refused a call, or "" if it was not the server who said so. */
  static String reason(StatusRuntimeException error) {
    return detail(error, ErrorInfo.class)
        .filter(info -> info.getDomain().equals("croupier.v1"))
        .map(ErrorInfo::getReason)
        .orElse("");
  }

  /** Returns when the same call may succeed, if the server has named a time. */
  static Optional<Duration> retryDelay(StatusRuntimeException error) {
    return detail(error, RetryInfo.class)
        .map(RetryInfo::getRetryDelay)
        .map(delay -> Duration.ofSeconds(delay.getSeconds(), delay.getNanos()));
  }

  /** Says in lines of text what an error comes with. */
  static String describe(StatusRuntimeException error) {
    var status = error.getStatus();
    var lines = new StringJoiner("\n");
    lines.add("%s: %s".formatted(status.getCode(), status.getDescription()));
    for (var cause = error.getCause(); cause != null; cause = cause.getCause()) {
      lines.add("  because " + cause);
    }
    detail(error, ErrorInfo.class)
        .ifPresent(
            info -> lines.add("  reason %s %s".formatted(info.getReason(), info.getMetadataMap())));
    for (var field :
        detail(error, BadRequest.class)
            .orElse(BadRequest.getDefaultInstance())
            .getFieldViolationsList()) {
      lines.add(
          "  field %s: %s (%s)"
              .formatted(field.getField(), field.getDescription(), field.getReason()));
    }
    for (var quota :
        detail(error, QuotaFailure.class)
            .orElse(QuotaFailure.getDefaultInstance())
            .getViolationsList()) {
      lines.add("  quota of %s: %s".formatted(quota.getSubject(), quota.getDescription()));
    }
    retryDelay(error).ifPresent(delay -> lines.add("  retry after " + delay));
    return lines.toString();
  }

  /** Returns the detail of a type that an error came with. */
  private static <T extends Message> Optional<T> detail(
      StatusRuntimeException error, Class<T> type) {
    for (Any each : StatusProto.fromThrowable(error).getDetailsList()) {
      if (each.is(type)) {
        try {
          return Optional.of(each.unpack(type));
        } catch (InvalidProtocolBufferException damaged) {
          return Optional.empty(); // By a proxy; the status still counts.
        }
      }
    }
    return Optional.empty();
  }

  // --8<-- [end:errors]

  /** Whether the server's certificate is not trusted, which another attempt does not mend. */
  static boolean isBadCertificate(Throwable error) {
    for (var cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException) {
        return true;
      }
    }
    return false;
  }
}
