// Package response holds the answers of OpenStack, which can have megabytes, in memory once.
package response

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

// buffers are those of answers that nobody reads any more. A change of nodes of a thousand Services
// reads a thousand answers of fifty kilobytes.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }} //nolint:gochecknoglobals // memory that is used again, of no meaning

// mostKept is the size of the largest buffer that is used again.
const mostKept = 1 << 20

// Buffer returns an empty buffer to read an answer into, for SetBody.
func Buffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

// whole is the body of an answer that was read.
type whole struct {
	bytes.Reader
	buffer *bytes.Buffer
}

// Close lets the buffer be used again: nothing is left to be read.
func (w *whole) Close() error {
	w.Reset(nil)
	if w.buffer != nil && w.buffer.Cap() <= mostKept {
		w.buffer.Reset()
		buffers.Put(w.buffer)
	}
	w.buffer = nil
	return nil
}

// SetBody makes what a buffer has the body of an answer. The buffer is the body's from then on.
func SetBody(resp *http.Response, buffer *bytes.Buffer) {
	body := &whole{buffer: buffer}
	body.Reset(buffer.Bytes())
	resp.Body, resp.ContentLength = body, int64(buffer.Len())
}

// lenient is how encoding/json before v2 decodes: a name that another client has not written as UTF-8,
// or an attribute that is there twice, does not make the rest of an answer unreadable.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// Get decodes the answer to a GET, once: the client's library would copy it into a buffer that
// grows by doubling. Into is nil where nobody needs what it says.
func Get(ctx context.Context, client *gophercloud.ServiceClient, url string, into any) error {
	resp, err := client.Get(ctx, url, nil, undecoded())
	return decode(resp, err, into)
}

// Post is Get for a POST of a body that is marshaled to JSON.
func Post(ctx context.Context, client *gophercloud.ServiceClient, url string, body, into any) error {
	resp, err := client.Post(ctx, url, body, nil, undecoded())
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

// Decode decodes the text of an answer: with a Reader into what has a method DecodeFrom, else by
// reflection.
func Decode(text []byte, into any) error {
	if into, ok := into.(decoder); ok {
		return readAll(text, into.DecodeFrom)
	}
	return json.Unmarshal(text, into, lenient())
}

// read returns what a body has, without a copy where SetBody made it.
func read(body io.Reader) ([]byte, error) {
	if body, ok := body.(*whole); ok && body.buffer != nil {
		return body.buffer.Bytes(), nil
	}
	return io.ReadAll(body)
}
