package holdfast

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
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
	if wrong := notEncodable(request); wrong != nil {
		return wrong
	}
	return errorWithTrailer(err, trailer)
}

// notEncodable returns the error of a message that can never be sent, or nil.
func notEncodable(message any) *Error {
	m, ok := message.(proto.Message)
	if !ok {
		return nil
	}
	if _, err := proto.Marshal(m); err != nil {
		return invalidOption("the request", "cannot be sent: "+err.Error())
	}
	return nil
}

func streamErrors(
	ctx context.Context, description *grpc.StreamDesc,
	cc *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := open(ctx, description, cc, method, options...)
	if err != nil {
		return nil, errorOfCall(err)
	}
	return &streamWithErrors{ClientStream: stream}, nil
}

type streamWithErrors struct {
	grpc.ClientStream
	// wrong is the error of the message that has ended the stream, if there is one.
	wrong atomic.Pointer[Error]
}

// SendMsg keeps the error of a message that can never be sent for RecvMsg.
func (s *streamWithErrors) SendMsg(message any) error {
	err := s.ClientStream.SendMsg(message)
	if err != nil && !errors.Is(err, io.EOF) {
		if wrong := notEncodable(message); wrong != nil {
			s.wrong.CompareAndSwap(nil, wrong)
			return wrong
		}
	}
	return err
}

// RecvMsg returns io.EOF at an end without an error.
func (s *streamWithErrors) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if wrong := s.wrong.Load(); wrong != nil {
		return wrong
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
