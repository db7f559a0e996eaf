package holdfast

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// The errors of all calls are of type *Error, with the trailers of the call:
// a proxy may drop the details of a status.

func unaryErrors(
	ctx context.Context, method string, request, reply any,
	cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	var trailer metadata.MD
	err := invoke(ctx, method, request, reply, cc, append(options, grpc.Trailer(&trailer))...)
	if err == nil {
		return nil
	}
	return errorWithTrailer(err, trailer)
}

func streamErrors(
	ctx context.Context, description *grpc.StreamDesc,
	cc *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := open(ctx, description, cc, method, options...)
	if err != nil {
		return nil, errorOfCall(err)
	}
	return streamWithErrors{stream}, nil
}

type streamWithErrors struct {
	grpc.ClientStream
}

// RecvMsg returns io.EOF at an end without an error.
func (s streamWithErrors) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return errorWithTrailer(err, s.Trailer())
}

func errorWithTrailer(err error, trailer metadata.MD) *Error {
	e := errorOfCall(err)
	if reasons := trailer.Get("holdfast-reason"); e.Reason == "" && len(reasons) > 0 {
		e.Reason = reasons[0]
	}
	if pushback := trailer.Get("grpc-retry-pushback-ms"); e.retryDelay == nil && len(pushback) > 0 {
		if ms, err := strconv.Atoi(pushback[0]); err == nil && ms >= 0 {
			delay := time.Duration(ms) * time.Millisecond
			e.retryDelay = &delay
		}
	}
	return e
}
