package rest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
)

// answering is a connection that gives one answer to everything.
type answering struct {
	text   string
	closed *bool
}

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if req.Method == http.MethodPost {
		status = http.StatusCreated
	}
	return &http.Response{StatusCode: status, Request: req, Header: http.Header{}, Body: a}, nil
}

func (a answering) Read(into []byte) (int, error) { return copy(into, a.text), io.EOF }

func (a answering) Close() error {
	*a.closed = true
	return nil
}

func client(text string) (client *gophercloud.ServiceClient, closed *bool) {
	closed = new(bool)
	return &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{
		HTTPClient: http.Client{Transport: answering{text, closed}},
	}}, closed
}

func TestRequests_DecodeAnswerAndCloseIt(t *testing.T) {
	t.Parallel()
	const text = `{"id": "a", "unknown": [1, 2]}`
	for name, request := range map[string]func(*gophercloud.ServiceClient, any) error{
		"GET": func(c *gophercloud.ServiceClient, into any) error { return Get(t.Context(), c, "http://cloud/x", into) },
		"POST": func(c *gophercloud.ServiceClient, into any) error {
			return Post(t.Context(), c, "http://cloud/x", map[string]any{}, into)
		},
	} {
		for _, given := range []struct{ text, want, refused string }{
			{text: text, want: "a"},
			{text: `{"id": "b", "name": "caf` + "\xe9" + `", "id": "a"}`, want: "a"},
			{text: "<html>", refused: "invalid character"},
			{text: "", refused: "unexpected EOF"},
			{text: `{"id": `, refused: "unexpected EOF"},
		} {
			var found struct {
				ID string `json:"id"`
			}
			c, closed := client(given.text)
			err := request(c, &found)
			if given.refused == "" && err != nil || given.refused != "" && (err == nil || !strings.Contains(err.Error(), given.refused)) {
				t.Errorf("%s of %q: error %v, want %q", name, given.text, err, given.refused)
			}
			if found.ID != given.want || !*closed {
				t.Errorf("%s of %q: ID %q, closed: %t, want %q and true", name, given.text, found.ID, *closed, given.want)
			}
		}
		c, closed := client(text)
		if err := request(c, nil); err != nil || !*closed {
			t.Errorf("%s of an answer that nobody needs: error %v, closed: %t", name, err, *closed)
		}
	}
}

// Its decoder takes what the transport has read as it is.
func TestSetBody_IsReadWithoutACopy(t *testing.T) {
	t.Parallel()
	const text = `{"id": "a"}`
	resp, buffer := &http.Response{}, bytes.NewBufferString(text)
	SetBody(resp, buffer)
	found, err := read(resp.Body)
	if err != nil || &found[0] != &buffer.Bytes()[0] || resp.ContentLength != int64(len(text)) {
		t.Errorf("read %q, error %v, of length %d: want the same bytes", found, err, resp.ContentLength)
	}
	if again, err := io.ReadAll(resp.Body); err != nil || string(again) != text {
		t.Errorf("the body reads %q, error %v, want %q", again, err, text)
	}
}

// A reader of a closed body must not see another answer, and two answers must not share a buffer.
func TestSetBody_GivesUpItsBufferOnce(t *testing.T) {
	t.Parallel()
	resp := &http.Response{}
	SetBody(resp, bytes.NewBufferString("an answer"))
	for range 2 {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if found, err := read(resp.Body); err != nil || len(found) > 0 || resp.Body.(*whole).buffer != nil {
			t.Errorf("a closed body reads %q, error %v, and has buffer %v", found, err, resp.Body.(*whole).buffer)
		}
	}
}

func TestBuffer_IsEmpty(t *testing.T) {
	t.Parallel()
	for range 100 {
		buffer := Buffer()
		if buffer.Len() > 0 {
			t.Fatalf("a buffer with %q", buffer)
		}
		buffer.WriteString("text")
		resp := &http.Response{}
		SetBody(resp, buffer)
		resp.Body.Close()
	}
}
