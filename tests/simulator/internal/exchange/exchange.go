// Package exchange sends requests for tests that check raw answers, to which gophercloud gives no
// access.
package exchange

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// Send sends a request, with a body as JSON unless it is nil, and with headers, which come
// in pairs of name and value. It returns the answer.
func Send(t *testing.T, client *http.Client, method, url string, body any, headers ...string) (status int, answer []byte, header http.Header) {
	t.Helper()
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer, response.Header
}
