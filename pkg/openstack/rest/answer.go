package rest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gophercloud/gophercloud/v2"
)

// buffers are those of answers that have been read. A change of nodes of a thousand Services reads
// a thousand answers of fifty kilobytes.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }} //nolint:gochecknoglobals // memory that is used again, of no meaning

// mostKept is the size of the largest buffer that is reused.
const mostKept = 1 << 20

// Buffer returns an empty buffer for an answer, for SetBody.
func Buffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

// whole is the body of an answer that was read completely.
type whole struct {
	bytes.Reader
	buffer *bytes.Buffer
}

// Close releases the buffer for reuse. Nothing can be read afterwards.
func (w *whole) Close() error {
	w.Reset(nil)
	if w.buffer != nil && w.buffer.Cap() <= mostKept {
		w.buffer.Reset()
		buffers.Put(w.buffer)
	}
	w.buffer = nil
	return nil
}

// SetBody makes the contents of a buffer the body of an answer. The body owns the buffer.
func SetBody(resp *http.Response, buffer *bytes.Buffer) {
	body := &whole{buffer: buffer}
	body.Reset(buffer.Bytes())
	resp.Body, resp.ContentLength = body, int64(buffer.Len())
}

// lenient are the options of encoding/json before v2: an invalid UTF-8 name of another client, or a
// duplicate attribute, does not make the rest of an answer unreadable.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// Get decodes the answer to a GET without the copy of the client's library, which grows a buffer by
// doubling. into may be nil.
func Get(ctx context.Context, client *gophercloud.ServiceClient, url string, into any) error {
	resp, err := client.Get(ctx, url, nil, undecoded())
	return decode(resp, err, into)
}

// Post is Get for a POST of a body that is marshaled to JSON.
func Post(ctx context.Context, client *gophercloud.ServiceClient, url string, body, into any) error {
	resp, err := client.Post(ctx, url, body, nil, undecoded())
	return decode(resp, err, into)
}

// Put is Post for a PUT, which OpenStack answers with 200 or, where it only accepts it, with 202.
func Put(ctx context.Context, client *gophercloud.ServiceClient, url string, body, into any) error {
	opts := undecoded()
	opts.OkCodes = []int{http.StatusOK, http.StatusAccepted}
	resp, err := client.Put(ctx, url, body, nil, opts)
	return decode(resp, err, into)
}

func undecoded() *gophercloud.RequestOpts { return &gophercloud.RequestOpts{KeepResponseBody: true} }

// decode decodes an answer, and closes its body.
func decode(resp *http.Response, err error, into any) error {
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	text, err := read(resp.Body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return Decode(text, into)
}

// Decode decodes the text of an answer: with a Reader if into has a method DecodeFrom, else by
// reflection.
func Decode(text []byte, into any) error {
	if into, ok := into.(decoder); ok {
		return readAll(text, into.DecodeFrom)
	}
	return json.Unmarshal(text, into, lenient())
}

// read returns the contents of a body, without a copy if SetBody made it.
func read(body io.Reader) ([]byte, error) {
	if body, ok := body.(*whole); ok && body.buffer != nil {
		return body.buffer.Bytes(), nil
	}
	return io.ReadAll(body)
}
