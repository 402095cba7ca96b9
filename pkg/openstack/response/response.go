// Package response holds the answers of OpenStack, which can have megabytes, in memory once.
package response

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gophercloud/gophercloud/v2"
)

// whole is the body of an answer that was read.
type whole struct {
	*bytes.Reader
	text []byte
}

// Close implements io.Closer.
func (whole) Close() error { return nil }

// SetBody makes text, which must not be changed any more, the body of an answer.
func SetBody(resp *http.Response, text []byte) {
	resp.Body, resp.ContentLength = whole{bytes.NewReader(text), text}, int64(len(text))
}

// lenient is how encoding/json before v2 decodes: a name that another client has not written as UTF-8,
// or an attribute that is there twice, does not make the rest of an answer unreadable.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

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
	return json.Unmarshal(text, into, lenient)
}

// read returns what a body has, without a copy where SetBody made it.
func read(body io.Reader) ([]byte, error) {
	if body, ok := body.(whole); ok {
		return body.text, nil
	}
	return io.ReadAll(body)
}
